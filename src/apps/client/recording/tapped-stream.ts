// Observes a stream of server-sent events on its way to the reader. It never reads ahead of the reader, and cancels
// the server's stream if the reader stops.
import { objectIn, type JsonObject } from "./model-request.ts";

/** How a stream ended: it was complete, its reader stopped, or it broke off. */
export type StreamEnd = "whole" | "left" | "broken";

export interface Tap {
  /** Called with each event. Returns the event for the reader, or null to drop it. */
  readonly onEvent: (event: JsonObject) => JsonObject | null;
  /** Called once, when the stream ends. */
  readonly onEnd: (end: StreamEnd) => void;
}

export function tappedStream(body: ReadableStream<Uint8Array>, tap: Tap): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const lines = new TappedLines(tap.onEvent);
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        for (;;) {
          const { done, value } = await reader.read();
          const text = done ? lines.rest() : lines.add(decoder.decode(value, { stream: true }));
          if (text !== "") controller.enqueue(encoder.encode(text));
          if (done) {
            tap.onEnd(lines.isBroken ? "broken" : "whole");
            controller.close();
          }
          if (done || text !== "") return;
        }
      } catch (error) {
        tap.onEnd("broken");
        throw error;
      }
    },
    cancel: async (reason) => {
      tap.onEnd("left");
      await reader.cancel(reason);
    },
  });
}

/**
 * Splits text into lines, and replaces or drops lines with an event. The empty line after a dropped event is dropped
 * too.
 */
class TappedLines {
  readonly #onEvent: Tap["onEvent"];
  #pending = "";
  #isDropping = false;
  /** True after an error event, which ends a stream. */
  isBroken = false;

  constructor(onEvent: Tap["onEvent"]) {
    this.#onEvent = onEvent;
  }

  add(text: string): string {
    const lines = (this.#pending + text).split("\n");
    this.#pending = lines.pop() ?? "";
    return lines.map((line) => this.#tapped(line)).join("");
  }

  rest(): string {
    return this.#pending;
  }

  #tapped(line: string): string {
    const event = line.startsWith("data:") ? objectIn(line.slice(5)) : null;
    const wasDropping = this.#isDropping;
    this.#isDropping = false;
    if (event === null) return wasDropping && line.trim() === "" ? "" : `${line}\n`;
    if (Object.hasOwn(event, "error")) this.isBroken = true;
    const seen = this.#onEvent(event);
    if (seen === null) {
      this.#isDropping = true;
      return "";
    }
    return `data: ${JSON.stringify(seen)}\n`;
  }
}
