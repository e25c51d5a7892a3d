// Lines of text packed into buffers, which pass from thread to thread without being copied.
import { outlinesOf } from "../../base/domain/summaries/outline-group.ts";
import type { TrajectoryOutline } from "../../base/domain/summaries/trajectory-outline.ts";
import type { TrajectoryGroup } from "../../base/domain/trajectory.ts";

/** Each holds whole lines, with a line feed between them; together they hold all lines in order. */
export type PackedLines = readonly Uint8Array<ArrayBuffer>[];

/** A buffer is closed once it has so many characters. */
const packLengthMin = 1 << 18;

export class LinePacker {
  readonly #packs: Uint8Array<ArrayBuffer>[] = [];
  readonly #encoder = new TextEncoder();
  #open: string[] = [];
  #length = 0;

  /** @param line holds no line feed, as JSON without blanks does */
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

/** The lines, decoded a pack at a time; can be read more than once. */
export function linesIn(packs: PackedLines): Iterable<string> {
  return {
    *[Symbol.iterator]() {
      const decoder = new TextDecoder();
      for (const pack of packs) yield* decoder.decode(pack).split("\n");
    },
  };
}

/** Packs outlines of trajectories: a line of JSON for each. */
export class OutlinePacker {
  readonly #lines = new LinePacker();
  #part = 0;
  #groupIndex = 0;

  /** @param partCount how many parts the group is stored in */
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

/** The outlines, parsed a pack at a time. */
export function* outlinesIn(packs: PackedLines): Generator<TrajectoryOutline, void> {
  // A line is what `OutlinePacker` made of an outline.
  for (const line of linesIn(packs)) yield JSON.parse(line) as TrajectoryOutline;
}
