// What the groups of a client's calls have in common.
import type { Calls } from "./calls.ts";

/** Calls of one kind, such as `hone.models`. */
export abstract class CallGroup {
  protected readonly calls: Calls;

  constructor(calls: Calls) {
    this.calls = calls;
  }
}
