// Lines of text, packed into buffers. Threads can transfer the buffers to each other without copying them.
import { outlinesOf } from "../../base/domain/summaries/outline-group.ts";
import type { TrajectoryOutline } from "../../base/domain/summaries/trajectory-outline.ts";
import type { TrajectoryGroup } from "../../base/domain/trajectory.ts";

/** Buffers of whole lines, which are separated by line feeds. Together, the buffers contain all lines in order. */
export type PackedLines = readonly Uint8Array<ArrayBuffer>[];

/** Number of characters after which a buffer is complete. */
const packLengthMin = 1 << 18;

export class LinePacker {
  readonly #packs: Uint8Array<ArrayBuffer>[] = [];
  readonly #encoder = new TextEncoder();
  #open: string[] = [];
  #length = 0;

  /**
   * Adds a line to the current buffer.
   *
   * @param line text without a line feed, such as unformatted JSON
   */
  add(line: string): void {
    this.#open.push(line);
    this.#length += line.length;
    if (this.#length >= packLengthMin) this.#close();
  }

  packed(): PackedLines {
    this.#close();
    return this.#packs;
  }

  #close(): void {
    if (this.#open.length === 0) return;
    this.#packs.push(this.#encoder.encode(this.#open.join("\n")));
    this.#open = [];
    this.#length = 0;
  }
}

/** Iterates over the lines, and decodes only one buffer at a time. The result can be iterated repeatedly. */
export function linesIn(packs: PackedLines): Iterable<string> {
  return {
    *[Symbol.iterator]() {
      const decoder = new TextDecoder();
      for (const pack of packs) yield* decoder.decode(pack).split("\n");
    },
  };
}

/** Packs summaries of trajectories. Each summary is one line of JSON. */
export class OutlinePacker {
  readonly #lines = new LinePacker();
  #part = 0;
  #groupIndex = 0;

  /**
   * Adds the summaries of a group's trajectories.
   *
   * @param partCount number of lines of the group in its stored form
   */
  add(group: TrajectoryGroup, partCount: number): void {
    const place = { part: this.#part, groupIndex: this.#groupIndex };
    for (const outline of outlinesOf(group, place)) this.#lines.add(JSON.stringify(outline));
    this.#part += partCount;
    this.#groupIndex += 1;
  }

  packed(): PackedLines {
    return this.#lines.packed();
  }
}

/** Yields the summaries, and parses one buffer at a time. */
export function* outlinesIn(packs: PackedLines): Generator<TrajectoryOutline, void> {
  // Safe cast: `OutlinePacker` has written the line.
  for (const line of linesIn(packs)) yield JSON.parse(line) as TrajectoryOutline;
}
