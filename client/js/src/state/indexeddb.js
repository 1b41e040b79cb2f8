import { BaseState } from "./base.js";

const STORE = "state";
const KEY = 0;

/**
 * A state in the IndexedDB of a page's origin, for pages and workers.
 *
 * Read, change and write are one transaction, so that tabs take turns, and durable once it is done. Every failure
 * rejects, and the next transaction makes a new connection; so it does after the browser has closed the connection,
 * or we have, because somebody deletes the database. There is no database before something is to be stored.
 */
export class IndexedDBState extends BaseState {
  /**
   * @param {string} app
   * @param {number} [patience] Milliseconds after which what another tab holds up rejects.
   */
  constructor(app, patience = 10_000) {
    /** @type {Promise<IDBDatabase | undefined> | undefined} */
    let current;
    const drop = () => {
      current?.then((database) => database?.close()).catch(() => {});
      current = undefined;
    };
    /** @param {boolean} writes @returns {Promise<IDBDatabase | undefined>} */
    const connect = async (writes) => {
      const connection = (current ??= open(app, drop, writes));
      const database = await connection;
      if (database) return database;
      if (current === connection) current = undefined;
      return writes ? connect(writes) : undefined;
    };
    super(async (writes, work) => {
      /** @type {IDBTransaction | undefined} */
      let transaction;
      /** @type {Promise<never>} */
      const timeout = new Promise((_, reject) => {
        const signal = AbortSignal.timeout(patience);
        signal.onabort = () => reject(signal.reason);
      });
      try {
        const database = await Promise.race([connect(writes), timeout]);
        if (!database) return work(undefined, () => {});
        transaction = database.transaction(STORE, writes ? "readwrite" : "readonly", { durability: "strict" });
        return await Promise.race([done(transaction, work), timeout]);
      } catch (error) {
        drop();
        try {
          transaction?.abort();
        } catch {
          // It is over.
        }
        throw error;
      }
    });
  }
}

/**
 * Return a connection to the database of an app; undefined if there is none and none shall be made.
 * @param {string} app
 * @param {() => void} gone Is called when the browser closes it, or somebody wants to delete the database.
 * @param {boolean} make Whether one is to be made.
 * @returns {Promise<IDBDatabase | undefined>}
 */
const open = (app, gone, make) =>
  new Promise((resolve, reject) => {
    const request = indexedDB.open(`dither ${app}`, 1);
    let none = false;
    request.onupgradeneeded = () => {
      none = !make;
      if (make) request.result.createObjectStore(STORE);
      else request.transaction?.abort(); // which undoes that it was made
    };
    request.onerror = () => (none ? resolve(undefined) : reject(request.error));
    request.onsuccess = () => {
      const database = request.result;
      database.onclose = database.onversionchange = gone;
      resolve(database);
    };
  });

/**
 * Return what `work` returns in a transaction, once that is done.
 * @template T
 * @param {IDBTransaction} transaction
 * @param {(stored: any, put: (data: unknown) => void) => T} work
 * @returns {Promise<T>}
 */
const done = (transaction, work) =>
  new Promise((resolve, reject) => {
    const store = transaction.objectStore(STORE);
    const request = store.get(KEY);
    const put = (/** @type {unknown} */ data) => (data ? store.put(data, KEY) : store.clear());
    /** @type {T} */
    let result;
    request.onsuccess = request.onerror = (event) => {
      event.preventDefault(); // lest what cannot be read abort the transaction
      try {
        result = work(request.error ? null : request.result, put);
      } catch (error) {
        reject(error);
      }
    };
    transaction.oncomplete = () => resolve(result);
    transaction.onabort = () => reject(transaction.error);
  });
