import { BaseState } from "./base.js";

const STORE = "state";
const KEY = 0;

/**
 * A state in the IndexedDB of a page's origin, for pages and workers.
 *
 * Read, change and write are one transaction, so that tabs take turns, and durable once it is done. Whatever fails
 * rejects, and the next transaction makes a new connection; so it does after the browser has closed it, or we have, for
 * somebody who deletes the database.
 */
export class IndexedDBState extends BaseState {
  /**
   * @param {string} app
   * @param {number} [patience] Milliseconds after which what another tab holds up rejects.
   */
  constructor(app, patience = 10_000) {
    /** @type {Promise<IDBDatabase> | undefined} */
    let current;
    super(async (writes, work) => {
      const connection = (current ??= open(app, () => drop()));
      const drop = () => {
        if (current === connection) current = undefined;
        connection.then((database) => database.close()).catch(() => {});
      };
      /** @type {IDBTransaction | undefined} */
      let transaction;
      /** @type {Promise<never>} */
      const timeout = new Promise((_, reject) => {
        const signal = AbortSignal.timeout(patience);
        signal.onabort = () => reject(signal.reason);
      });
      try {
        const database = await Promise.race([connection, timeout]);
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
 * Return a connection to the database of an app.
 * @param {string} app
 * @param {() => void} gone Is called when the browser closes it, or somebody wants to delete the database.
 * @returns {Promise<IDBDatabase>}
 */
const open = (app, gone) =>
  new Promise((resolve, reject) => {
    const request = indexedDB.open(`dither ${app}`, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onerror = () => reject(request.error);
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
