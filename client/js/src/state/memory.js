import { BaseState } from "./base.js";

/** A state that lasts as long as the object; for tests, and for clients that must store nothing. */
export class MemoryState extends BaseState {
  /** @param {unknown} [stored] What it begins with. */
  constructor(stored) {
    super(async (_, work) =>
      work(structuredClone(this.stored), (data) => {
        this.stored = structuredClone(data);
      }),
    );
    this.stored = stored;
  }
}
