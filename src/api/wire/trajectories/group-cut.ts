// Splits a stored group's text into items as it arrives, piece by piece: a group can have hundreds of megabytes, and
// rows need one trajectory at a time. It finds only boundaries and parses nothing. Pure; its state is plain data, so
// that each piece may be cut in another thread.
import { assert } from "../../../base/domain/assert.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

/** A group is `{"trajectories":[…],…}`, as written from a TrajectoryGroup: items of the list, then members. */
type Section = "trajectories" | "members" | "end";

/** State of a cut within a group's text. */
export interface GroupCut {
  readonly section: Section;
  /** Pieces of the incomplete item; null if it exceeds the kept bytes. */
  readonly open: readonly Bytes[] | null;
  readonly openByteCount: number;
  readonly depth: number;
  readonly isInText: boolean;
  readonly isEscaped: boolean;
  /** False until the group's first bytes have arrived. */
  readonly hasBegun: boolean;
}

export const groupStart: GroupCut = {
  section: "trajectories",
  open: [],
  openByteCount: 0,
  depth: 0,
  isInText: false,
  isEscaped: false,
  hasBegun: false,
};

/** A complete item: a trajectory, or a further member with its name. */
export interface GroupItem {
  readonly section: Exclude<Section, "end">;
  /** Null if it exceeds the kept bytes. */
  readonly pieces: readonly Bytes[] | null;
  readonly byteCount: number;
}

export interface CutOptions {
  /** Maximum number of bytes kept of an item, by section. */
  readonly keptBytes: { readonly trajectories: number; readonly members: number };
  readonly onItem: (item: GroupItem) => void;
  /**
   * Called with the offset in the piece at which the list of trajectories ended; the rest, up to the group's end, are
   * members.
   */
  readonly onMembers?: (at: number) => void;
}

const head = new TextEncoder().encode('{"trajectories":[');
/** Structural bytes of JSON; no byte of a multi-byte character equals one. */
const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
/** `[` and `{`, and `]` and `}`, differ in one bit. */
const isOpening = (byte: number): boolean => (byte | 0x20) === 0x7b;
const isClosing = (byte: number): boolean => (byte | 0x20) === 0x7d;

/**
 * Continues the cut through a piece, and passes out views of it; the first piece contains at least the group's first
 * 17 bytes.
 */
export function cutGroup(
  cut: GroupCut,
  piece: Bytes,
  { keptBytes, onItem, onMembers = () => undefined }: CutOptions,
): GroupCut {
  let { section, open, openByteCount, depth, isInText, isEscaped } = cut;
  let start = cut.hasBegun ? 0 : startIn(piece);
  const keepTo = (end: number): void => {
    if (section === "end" || end <= start) return;
    openByteCount += end - start;
    if (open === null || openByteCount > keptBytes[section]) open = null;
    else open = [...open, piece.subarray(start, end)];
  };
  for (let at = start; at < piece.length; at++) {
    const byte = piece[at];
    if (isInText) {
      if (isEscaped) isEscaped = false;
      else if (byte === backslash) isEscaped = true;
      else if (byte === quote) isInText = false;
    } else if (byte === quote) isInText = true;
    else if (isOpening(byte)) depth += 1;
    else if (depth > 0) {
      if (isClosing(byte)) depth -= 1;
    } else if (byte === comma || isClosing(byte)) {
      keepTo(at);
      start = at + 1;
      if (openByteCount > 0 && section !== "end") onItem({ section, pieces: open, byteCount: openByteCount });
      [open, openByteCount] = [[], 0];
      if (byte === comma) continue;
      if (section === "trajectories") onMembers(start);
      section = section === "trajectories" ? "members" : "end";
    }
  }
  keepTo(piece.length);
  return { section, open, openByteCount, depth, isInText, isEscaped, hasBegun: true };
}

/** True if the group's text was complete. */
export function isComplete({ section }: GroupCut): boolean {
  return section === "end";
}

function startIn(piece: Bytes): number {
  const isHead = head.every((byte, index) => piece[index] === byte);
  assert(isHead, "a stored group begins with its trajectories");
  return head.length;
}
