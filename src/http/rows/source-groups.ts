// The groups of one log or job, a line of JSON for each: where it lies, and what it holds beside its trajectories, which are
// rows. A group is read once, a piece at a time, and its members are passed on as they are stored, however long.
import { groupLineStart, type RowSource } from "../../wire/trajectories/rows.ts";
import { noMembers } from "../../wire/trajectories/row-tasks.ts";
import { GroupPieces, type StoredSource } from "./source-rows.ts";

/**
 * Reads piece after piece of the lines.
 *
 * @throws ServiceError `not_found` when what is read goes meanwhile
 */
export async function* sourceGroups(
  { linesFrom, reader, client }: Omit<StoredSource, "share">,
  source: RowSource,
): AsyncGenerator<Uint8Array | string, void> {
  const pieces = new GroupPieces(await linesFrom(0));
  let [groupIndex, progress, isInMembers] = [0, noMembers, false];
  for (let next = await pieces.takePiece(); next !== null; next = await pieces.takePiece()) {
    if (isInMembers) yield next.piece;
    else {
      const found = await reader.run("members", { progress, piece: next.piece }, client);
      ({ progress } = found);
      if (found.text !== null) {
        isInMembers = true;
        yield groupLineStart(source, groupIndex, progress.trajectoryCount);
        yield found.text;
      }
    }
    if (next.isLast) [groupIndex, progress, isInMembers] = [groupIndex + 1, noMembers, false];
  }
}
