// Lexical structure of Lark's notation: names, definitions and blanks.
import { Reader } from "../../../regex/reader.ts";

const blanks = /(?:\s|#[^\n]*|\/\/[^\n]*|\\ *\n)*/y;
const blanksOfLine = /(?:[ \t]|\\ *\r?\n)*/y;
const name = /_*[A-Za-z]\w*(?:-\w+)*/y;
/** Beginning of a definition: tree-shaping marks, a name, attributes or parameters, a priority, and the colon. */
const definition =
  /[!?]*_*[A-Za-z]\w*(?:-\w+)*(?:\[(?:[^\]"/\n]|"(?:[^"\\\n]|\\.)*"|\/(?:[^/\\\n]|\\.)*\/)*\]|\{[^}\n]*\})?(?:\.-?\d+)?[ \t]*:(?!:=)/y;
const directive = /%(?!json|regex|lark\b)[a-z]/y;

/** Skips blanks, line breaks and comments. */
export const skipBlanks = (reader: Reader): unknown => reader.match(blanks);

/** Skips blanks within the line, and escaped line breaks. */
export const skipBlanksOfLine = (reader: Reader): unknown => reader.match(blanksOfLine);

export const readName = (reader: Reader): string | null => reader.match(name)?.[0] ?? null;

/** True for a terminal's name, which begins with an uppercase letter; names of rules begin with a lowercase one. */
export const isTerminalName = (text: string): boolean => /^_*[A-Z]/.test(text);

/** True if a definition or directive begins at the reader's position, so that the previous one has ended. */
export const startsStatement = (reader: Reader): boolean =>
  stands(reader, definition) || stands(reader, directive);

/** True if the grammar begins with a definition or directive in Lark's notation. */
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
