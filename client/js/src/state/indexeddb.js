import { checked } from "./data.js";

/** @typedef {import("../types.js").Data} Data */

const STORE = "state";
const KEY = 0;

/**
 * A state in the IndexedDB of a page's origin, for pages and workers.
 *
 * Read, change and write are one transaction, so that tabs take turns, and durable once it is done. Whatever fails
 * rejects, and the next transaction makes a new connection; so it does after the browser has closed it, or we have, for
 * somebody who deletes the database.
 */
export class IndexedDBState {
  /**
   * @param {string} app
   * @param {number} [patience] Milliseconds after which what another tab holds up rejects.
   */
  constructor(app, patience = 10_000) {
    this.app = app;
    this.patience = patience;
    /** @type {Promise<IDBDatabase> | undefined} */
    this.connection = undefined;
  }

  /** Return what is kept. */
  read() {
    return this.transact("readonly", (stored) => checked(stored));
  }

  /**
   * Let `change` alter the data, and keep what it left.
   * @template T
   * @param {(data: Data) => T} change
   * @param {() => Data} [anew] Gives what takes the place of damaged data.
   * @returns {Promise<T>}
   */
  update(change, anew) {
    return this.transact("readwrite", (stored, store) => {
      const data = checked(stored, anew);
      const result = change(data);
      store.put(data, KEY);
      return result;
    });
  }

  /** Delete all of it. */
  erase() {
    return this.transact("readwrite", (_, store) => void store.clear());
  }

  /**
   * Return what `work` returns, given what is stored (null if that is unreadable), once the transaction is done.
   * @template T
   * @param {IDBTransactionMode} mode
   * @param {(stored: unknown, store: IDBObjectStore) => T} work
   * @returns {Promise<T>}
   */
  async transact(mode, work) {
    const drop = () => {
      if (this.connection === connection) this.connection = undefined;
      connection.then((database) => database.close()).catch(() => {});
    };
    const connection = (this.connection ??= open(this.app, () => drop()));
    /** @type {IDBTransaction | undefined} */
    let transaction;
    let timer;
    try {
      const timeout = new Promise((_, reject) => {
        timer = setTimeout(reject, this.patience, new DOMException("it takes too long", "TimeoutError"));
      });
      const database = await Promise.race([connection, timeout]);
      transaction = /** @type {IDBDatabase} */ (database).transaction(STORE, mode, { durability: "strict" });
      return await Promise.race([done(transaction, work), timeout]);
    } catch (error) {
      drop();
      try {
        transaction?.abort();
      } catch {
        // It is over.
      }
      throw error;
    } finally {
      clearTimeout(timer);
    }
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
 * @param {(stored: unknown, store: IDBObjectStore) => T} work
 * @returns {Promise<T>}
 */
const done = (transaction, work) =>
  new Promise((resolve, reject) => {
    const store = transaction.objectStore(STORE);
    const request = store.get(KEY);
    /** @type {T} */
    let result;
    request.onsuccess = request.onerror = (event) => {
      event.preventDefault(); // lest an error abort the transaction
      try {
        result = work(request.error ? null : request.result, store);
      } catch (error) {
        reject(error);
      }
    };
    transaction.oncomplete = () => resolve(result);
    transaction.onabort = () => reject(transaction.error ?? new DOMException("", "AbortError"));
  });
