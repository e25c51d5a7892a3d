// Reads single members from the first bytes of a JSON object, before the rest has come. Checks nothing: the whole object
// is still read and checked later.
import { endOfText, nameAt } from "./list-body.ts";

const [quote, openBracket, closeBracket, openBrace, closeBrace] = [0x22, 0x5b, 0x5d, 0x7b, 0x7d];

/** The text that a member of the object has, as it is written; null where these bytes do not hold it, or it is no text. */
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
