// Reads a large JSON object in parts: single members from its first bytes, and one long list item by item. A body of
// hundreds of megabytes is thus never completely in memory as objects. Its bytes are scanned before any value is parsed
// or visited recursively.
import { isMalformed, parseJsonBody, refuseMalformed, type JsonLimits } from "./json-body.ts";

export interface ListBody {
  /** The body with an empty list in the place of the long one. */
  readonly rest: unknown;
  /**
   * Items of the long list, at most `itemsMax`, each of which is parsed when it is read. Empty if the member is no
   * list.
   */
  readonly items: Iterable<unknown>;
  /** Number of all items in the long list. */
  readonly itemCount: number;
}

/**
 * Parses a body, except for the items of one list.
 *
 * @param options.member name of the list in the body
 * @throws ServiceError `invalid` as {@link parseJsonBody}; reading an item throws the same errors. Each item may have
 * `limits.valuesMax` values
 */
export function parseListBody(
  bytes: Buffer,
  { member, itemsMax }: { readonly member: string; readonly itemsMax: number },
  limits: JsonLimits,
): ListBody {
  const list = findList(bytes, { member, itemsMax });
  if (list === null) return { rest: parseJsonBody(bytes, limits), items: [], itemCount: 0 };
  const parsePart = (part: Buffer, partLimits: JsonLimits): unknown => {
    try {
      const value = parseJsonBody(part, partLimits);
      // A part is empty only if the list has a superfluous comma.
      return value === undefined ? refuseMalformed(bytes, limits) : value;
    } catch (error) {
      // The error must name the position in the whole body, not in this part.
      if (isMalformed(error)) refuseMalformed(bytes, limits);
      throw error;
    }
  };
  const rest = Buffer.concat([bytes.subarray(0, list.start), Buffer.from("[]"), bytes.subarray(list.end)]);
  const itemLimits = { ...limits, depthMax: limits.depthMax - 2 };
  return {
    rest: parsePart(rest, limits),
    itemCount: list.itemCount,
    items: {
      *[Symbol.iterator]() {
        for (let index = 0; index < list.items.length; index += 2) {
          yield parsePart(bytes.subarray(list.items[index], list.items[index + 1]), itemLimits);
        }
      },
    },
  };
}

interface ListPlace {
  /** Offset of the list's opening bracket. `end` is the offset after its closing bracket. */
  readonly start: number;
  readonly end: number;
  /** Offsets at which each of the first items begins and ends, alternating. */
  readonly items: readonly number[];
  readonly itemCount: number;
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Finds the list that is the value of the member. If the name occurs several times, the last one counts, as in
 * JSON.parse.
 */
function findList(
  bytes: Buffer,
  { member, itemsMax }: { readonly member: string; readonly itemsMax: number },
): ListPlace | null {
  let found: ListPlace | null = null;
  let name: string | null = null;
  let depth = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === quote) {
      const end = endOfText(bytes, index);
      if (depth === 1) name = nameAt(bytes, index, end) ?? name;
      // If the member occurs again, its new value replaces the value found before.
      if (depth === 1 && name === member) found = null;
      index = end - 1;
    } else if (byte === openBracket && depth === 1 && name === member) {
      found = listAt(bytes, index, itemsMax);
      if (found === null) return null;
      index = found.end - 1;
    } else if (byte === openBrace || byte === openBracket) {
      depth += 1;
    } else if (byte === closeBrace || byte === closeBracket) depth -= 1;
  }
  return found;
}

/** Returns the text at these offsets if it is the name of a member; null if it is a value. */
function nameAt(bytes: Buffer, start: number, end: number): string | null {
  let after = end;
  while (isBlank(bytes[after])) after += 1;
  if (bytes[after] !== colon || end - start > 200) return bytes[after] === colon ? "" : null;
  try {
    return String(JSON.parse(bytes.toString("utf8", start, end)));
  } catch {
    return "";
  }
}

function listAt(bytes: Buffer, start: number, itemsMax: number): ListPlace | null {
  const items: number[] = [];
  let itemCount = 0;
  const addItem = (itemEnd: number): void => {
    itemCount += 1;
    if (itemCount <= itemsMax) items.push(itemStart, itemEnd);
  };
  let itemStart = start + 1;
  let depth = 0;
  for (let index = start + 1; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === quote) index = endOfText(bytes, index) - 1;
    else if (byte === openBrace || byte === openBracket) depth += 1;
    else if (depth > 0) {
      if (byte === closeBrace || byte === closeBracket) depth -= 1;
    } else if (byte === comma) {
      addItem(index);
      itemStart = index + 1;
    } else if (byte === closeBracket) {
      if (itemCount > 0 || !isBlankBetween(bytes, itemStart, index)) addItem(index);
      return { start, end: index + 1, items, itemCount };
    }
  }
  return null;
}

/** Returns the index after the closing quotation mark of the text that begins at `start`. */
function endOfText(bytes: Buffer, start: number): number {
  let end = start + 1;
  for (;;) {
    end = bytes.indexOf(quote, end);
    if (end < 0) return bytes.length;
    let backslashes = 0;
    while (bytes[end - 1 - backslashes] === backslash) backslashes += 1;
    end += 1;
    if (backslashes % 2 === 0) return end;
  }
}

function isBlankBetween(bytes: Buffer, start: number, end: number): boolean {
  for (let index = start; index < end; index++) if (!isBlank(bytes[index])) return false;
  return true;
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/**
 * Returns the text of a member of the object, without quotation marks but with its escapes. Returns null if these bytes
 * do not contain the member, or its value is no text.
 */
export function textMemberAtHead(head: Buffer, member: string): string | null {
  let name: string | null = null;
  let depth = 0;
  for (let index = 0; index < head.length; index++) {
    const byte = head[index];
    if (byte === quote) {
      const end = endOfText(head, index);
      if (end === head.length) return null;
      const newName = depth === 1 ? nameAt(head, index, end) : null;
      if (depth === 1 && newName === null && name === member)
        return head.toString("utf8", index + 1, end - 1);
      name = newName ?? name;
      index = end - 1;
    } else if (byte === openBrace || byte === openBracket) depth += 1;
    else if (byte === closeBrace || byte === closeBracket) depth -= 1;
  }
  return null;
}
