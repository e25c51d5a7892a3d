// Outlines of trajectories as packed lines: a line of JSON for each.
import { outlinesOf } from "../../../base/domain/outlines/outline-group.ts";
import type { TrajectoryOutline } from "../../../base/domain/outlines/trajectory-outline.ts";
import type { TrajectoryGroup } from "../../../base/domain/trajectory.ts";
import { LinePacker, linesIn, type PackedLines } from "../packed-lines.ts";

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
