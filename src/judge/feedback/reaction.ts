// Normalizes a reaction: finds the one emoji in a text, looks up its name, and removes its skin tone.
import { type EmojiNames, emojiSelector, readEmojiNames, textSelector } from "./emoji-names.ts";

export interface NormalReaction {
  /** The reaction's text, in which the emoji's name between colons replaces the emoji. */
  readonly alias: string;
  /**
   * The reaction's text, with the emoji in the default skin tone. If there is no such emoji, its name between colons
   * replaces it.
   */
  readonly detoned: string;
  readonly detonedAlias: string;
}

interface EmojiMatch {
  readonly start: number;
  readonly end: number;
  /** Name of the emoji; null if the emoji is newer than the table of names. */
  readonly name: string | null;
}

const tonePattern = /_(?:light|medium-light|medium|medium-dark|dark)_skin_tone/g;

let names: EmojiNames | null = null;

/** Returns the normalized reaction. If the text does not contain exactly one emoji, returns the number of its emoji. */
export function normaliseReaction(text: string): NormalReaction | { readonly emojiCount: number } {
  names ??= readEmojiNames();
  const matches = findEmoji(names, text);
  if (matches.length !== 1) return { emojiCount: matches.length };
  const [{ start, end, name }] = matches;
  const [before, after] = [text.slice(0, start), text.slice(end)];
  if (name === null) {
    const detoned = before + text.slice(start, end).replace(/\p{Emoji_Modifier}/u, "") + after;
    return { alias: text, detoned, detonedAlias: detoned };
  }
  const detonedName = name.replaceAll(tonePattern, "");
  return {
    alias: `${before}:${name}:${after}`,
    detonedAlias: `${before}:${detonedName}:${after}`,
    detoned: `${before}${names.emojiOf.get(detonedName) ?? `:${detonedName}:`}${after}`,
  };
}

function findEmoji(table: EmojiNames, text: string): readonly EmojiMatch[] {
  const matches: EmojiMatch[] = [];
  let start = 0;
  while (start < text.length) {
    const match = emojiAt(table, text, start);
    if (match !== null) matches.push(match);
    start = match?.end ?? start + 1;
  }
  return matches;
}

/** Finds the longest emoji at this position. Its length includes variation selectors within and directly after it. */
function emojiAt(table: EmojiNames, text: string, start: number): EmojiMatch | null {
  let longest: EmojiMatch | null = null;
  let bare = "";
  let end = start;
  while (end < text.length) {
    const character = String.fromCodePoint(text.codePointAt(end) ?? 0);
    bare += character;
    if (!table.beginnings.has(bare)) break;
    end += character.length;
    const selectorEnd = isSelector(text[end]) ? end + 1 : end;
    const name = table.nameOf.get(bare);
    if (name !== undefined) longest = { start, end: selectorEnd, name };
    // A skin tone applies only to the character before it, so an emoji with a selector ends before the skin tone.
    if (selectorEnd > end && /^\p{Emoji_Modifier}/u.test(text.slice(selectorEnd))) break;
    end = selectorEnd;
  }
  return longest ?? unnamedEmojiAt(text, start);
}

/** Matches emoji in Unicode blocks that are reserved for future emoji. */
const unnamedEmoji = /[\u{1f6d8}-\u{1f6db}\u{1fa70}-\u{1faff}]\p{Emoji_Modifier}?\ufe0f?/uy;

/** Finds an emoji that is too new for the table of names; clients may send it before this server has its name. */
function unnamedEmojiAt(text: string, start: number): EmojiMatch | null {
  unnamedEmoji.lastIndex = start;
  const match = unnamedEmoji.exec(text);
  return match === null ? null : { start, end: start + match[0].length, name: null };
}

function isSelector(character: string | undefined): boolean {
  return character === textSelector || character === emojiSelector;
}
