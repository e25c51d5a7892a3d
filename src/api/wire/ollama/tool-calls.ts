// Collects the parts of an answer's tool calls. Ollama's API sends only complete calls, whose arguments are a JSON
// object.
import type { ToolCallDelta } from "../../../base/domain/chat.ts";
import { argumentsOf } from "../tool-arguments.ts";

export class CollectedCalls {
  #open: ToolCallDelta | null = null;

  /** Adds parts of calls. Returns the calls that are now complete, because another one has begun. */
  add(deltas: readonly ToolCallDelta[]): readonly object[] {
    const complete: object[] = [];
    for (const delta of deltas) {
      const before = this.#open;
      if (before?.index === delta.index) {
        this.#open = { ...before, ...delta, argumentsText: before.argumentsText + delta.argumentsText };
      } else {
        complete.push(...this.finish());
        this.#open = delta;
      }
    }
    return complete;
  }

  /** Returns the open call, which is now complete; empty if there is none. */
  finish(): readonly object[] {
    const call = this.#open;
    this.#open = null;
    return call === null ? [] : [callBody(call)];
  }
}

function callBody({ index, id, name, argumentsText }: ToolCallDelta): object {
  return { id, function: { index, name, arguments: argumentsOf(argumentsText) } };
}
