// Trajectory groups as rows of their own, one text each: a submission can hold hundreds of megabytes, and a single
// statement must neither build such a text nor hold the event loop that long.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { TrajectoryGroup } from "../domain/trajectory.ts";

/** After this many characters written, other work of the process gets a turn. */
const charactersPerTurn = 1 << 20;

/**
 * Turns groups into texts and hands each to `insert`, letting the event loop breathe in between.
 *
 * @param insert writes one group inside the caller's transaction
 */
export async function writeGroups(
  groups: readonly TrajectoryGroup[],
  insert: (groupIndex: number, content: string) => Promise<unknown>,
): Promise<void> {
  let pendingCharacters = 0;
  for (const [groupIndex, group] of groups.entries()) {
    const content = JSON.stringify(group);
    await insert(groupIndex, content);
    pendingCharacters += content.length;
    if (pendingCharacters < charactersPerTurn) continue;
    pendingCharacters = 0;
    await nextTurn();
  }
}

/** Reads a group back from its text. */
export function groupOf(content: string): TrajectoryGroup {
  // The text is what `writeGroups` made of a group.
  return JSON.parse(content) as TrajectoryGroup;
}
