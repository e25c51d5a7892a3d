// Where names, definitions and blanks begin and end in Lark's notation.
import { Reader } from "../../../regex/reader.ts";

const blanks = /(?:\s|#[^\n]*|\/\/[^\n]*|\\ *\n)*/y;
const blanksOfLine = /(?:[ \t]|\\ *\r?\n)*/y;
const name = /_*[A-Za-z]\w*(?:-\w+)*/y;
/** Marks of how a tree is built, a name, attributes or parameters, a priority. */
const definition =
  /[!?]*_*[A-Za-z]\w*(?:-\w+)*(?:\[(?:[^\]"/\n]|"(?:[^"\\\n]|\\.)*"|\/(?:[^/\\\n]|\\.)*\/)*\]|\{[^}\n]*\})?(?:\.-?\d+)?[ \t]*:(?!:=)/y;
const directive = /%(?!json|regex|lark\b)[a-z]/y;

/** Steps over blanks, ends of lines and comments. */
export const skipBlanks = (reader: Reader): unknown => reader.match(blanks);

/** Steps over blanks, as far as the line goes. */
export const skipBlanksOfLine = (reader: Reader): unknown => reader.match(blanksOfLine);

export const readName = (reader: Reader): string | null => reader.match(name)?.[0] ?? null;

/** Terminals have upper-case names, rules lower-case ones. */
export const isTerminalName = (text: string): boolean => /^_*[A-Z]/.test(text);

/** Whether a definition or a directive begins here, so that what was before it is over. */
export const startsStatement = (reader: Reader): boolean =>
  stands(reader, definition) || stands(reader, directive);

/** Whether the first thing that a text holds is Lark's. */
export function startsLikeLark(text: string): boolean {
  const reader = new Reader(text, "");
  skipBlanks(reader);
  return startsStatement(reader);
}

function stands(reader: Reader, expression: RegExp): boolean {
  const { position } = reader;
  const isHere = reader.match(expression) !== null;
  reader.position = position;
  return isHere;
}
