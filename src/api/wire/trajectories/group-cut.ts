// Splits the text of a stored group, which may have hundreds of megabytes, into items. The text comes piece by piece;
// the code finds where items begin and end, but does not parse them. The functions are pure and their state is plain
// data, so that each piece may be processed in another thread.
import { assert } from "../../../base/domain/assert.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Section of a group's text, which has the form `{"trajectories":[…],…}`. The sections are the list of trajectories,
 * the other members, and the end.
 */
type Section = "trajectories" | "members" | "end";

/**
 * State between two pieces, which are consecutive chunks of a group's text. An item may begin in one piece and continue
 * in the next.
 */
export interface GroupCut {
  readonly section: Section;
  /** Text of the current item so far, as views of the pieces; null if the item exceeds the byte limit. */
  readonly open: readonly Bytes[] | null;
  readonly openByteCount: number;
  readonly depth: number;
  readonly isInText: boolean;
  readonly isEscaped: boolean;
  /** True once the first piece of the group has been processed. */
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

/** A complete item of a group: a trajectory, or another member with its name. */
export interface GroupItem {
  readonly section: Exclude<Section, "end">;
  /** The item's text, as views of the group's pieces; null if the item exceeds the byte limit. */
  readonly pieces: readonly Bytes[] | null;
  readonly byteCount: number;
}

export interface CutOptions {
  /** Maximum size in bytes of an item whose content is kept, by section. */
  readonly keptBytes: { readonly trajectories: number; readonly members: number };
  readonly onItem: (item: GroupItem) => void;
  /**
   * Called when the list of trajectories ends.
   *
   * @param at offset in the piece after the end of the list. From there on, the group has only other members
   */
  readonly onMembers?: (at: number) => void;
}

const head = new TextEncoder().encode('{"trajectories":[');
/** Structural bytes of JSON. They never occur within a multi-byte UTF-8 character. */
const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
/** Setting bit 0x20 turns `[` into `{` and `]` into `}`, so one comparison covers both. */
const isOpening = (byte: number): boolean => (byte | 0x20) === 0x7b;
const isClosing = (byte: number): boolean => (byte | 0x20) === 0x7d;

/**
 * Processes the next piece of a group's text, and returns the new state. Passes items to `onItem` as views of the
 * pieces. The first piece must contain at least the group's first 17 bytes.
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

/** True if the whole group has been processed. */
export function isComplete({ section }: GroupCut): boolean {
  return section === "end";
}

function startIn(piece: Bytes): number {
  const isHead = head.every((byte, index) => piece[index] === byte);
  assert(isHead, "a stored group begins with its trajectories");
  return head.length;
}
