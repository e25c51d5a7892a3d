// Names of all emoji, such as `thumbs_up_medium_skin_tone`, derived from the CLDR short names. They equal those of the
// Python package `emoji`, because users of that package compare their own records with this server's.
import { createRequire } from "node:module";

interface EmojiEntry {
  readonly name: string;
  readonly group: string;
  readonly skin_tone_support: boolean;
}

export interface EmojiNames {
  /** Name of each emoji, including emoji with skin tones. Keys contain no variation selectors. */
  readonly nameOf: ReadonlyMap<string, string>;
  /** The fully qualified emoji for each name; names with a skin tone are missing. */
  readonly emojiOf: ReadonlyMap<string, string>;
  /**
   * Every prefix of a key of `nameOf`. A search for the longest emoji can stop as soon as the text read so far is not
   * in this set.
   */
  readonly beginnings: ReadonlySet<string>;
}

// Uses `require` because JSON modules are still experimental in the oldest supported Node.js.
const require = createRequire(import.meta.url);

export const textSelector = "\ufe0e";
export const emojiSelector = "\ufe0f";
const joiner = "\u200d";

const tones: readonly (readonly [emoji: string, name: string])[] = [
  ["🏻", "light_skin_tone"],
  ["🏼", "medium-light_skin_tone"],
  ["🏽", "medium_skin_tone"],
  ["🏾", "medium-dark_skin_tone"],
  ["🏿", "dark_skin_tone"],
];

const hair: readonly (readonly [emoji: string, name: string])[] = [
  ["🦰", "red_hair"],
  ["🦱", "curly_hair"],
  ["🦲", "bald"],
  ["🦳", "white_hair"],
];

/** Names that do not follow from the emoji's CLDR name by the general rule. */
const irregularNames: Readonly<Record<string, string>> = {
  "🇭🇲": "Heard_Island_&_McDonald_Islands",
  "🇸🇭": "St._Helena_Ascension_&_Tristan_da_Cunha",
  "🇹🇫": "French_Southern_and_Antarctic_Lands",
};

/** Emoji of Unicode 18.0, which the data package lacks. The format is that of the package. */
const youngest: Readonly<Record<string, EmojiEntry>> = {
  "🫫": { name: "cracking face", group: "Smileys & Emotion", skin_tone_support: false },
  "🫹": { name: "leftwards thumb sign", group: "People & Body", skin_tone_support: true },
  "🫺": { name: "rightwards thumb sign", group: "People & Body", skin_tone_support: true },
  "🫌": { name: "monarch butterfly", group: "Animals & Nature", skin_tone_support: false },
  "🫝": { name: "pickle", group: "Food & Drink", skin_tone_support: false },
  "🛙": { name: "lighthouse", group: "Travel & Places", skin_tone_support: false },
  "🪋": { name: "meteor", group: "Travel & Places", skin_tone_support: false },
  "🪌": { name: "eraser", group: "Objects", skin_tone_support: false },
  "🪍": { name: "net with handle", group: "Objects", skin_tone_support: false },
};

/**
 * Emoji that show two people and are a single character without skin tones. With two different skin tones, such an
 * emoji becomes a sequence: the two `members`, with the characters of `between` in the middle. `name` is the name of
 * that sequence, if it differs from the emoji's name.
 */
const pairs: readonly {
  readonly emoji: string;
  readonly members: readonly [string, string];
  readonly between: readonly string[];
  readonly name?: string;
}[] = [
  { emoji: "🤝", members: ["🫱", "🫲"], between: [] },
  { emoji: "👫", members: ["👩", "👨"], between: ["🤝"] },
  { emoji: "👬", members: ["👨", "👨"], between: ["🤝"] },
  { emoji: "👭", members: ["👩", "👩"], between: ["🤝"] },
  { emoji: "💏", members: ["🧑", "🧑"], between: ["❤", "💋"], name: "kiss_person_person" },
  { emoji: "💑", members: ["🧑", "🧑"], between: ["❤"], name: "couple_with_heart_person_person" },
  { emoji: "👯", members: ["🧑", "🧑"], between: ["🐰"] },
  { emoji: "👯‍♂", members: ["👨", "👨"], between: ["🐰"] },
  { emoji: "👯‍♀", members: ["👩", "👩"], between: ["🐰"] },
  { emoji: "🤼", members: ["🧑", "🧑"], between: ["🫯"] },
  { emoji: "🤼‍♂", members: ["👨", "👨"], between: ["🫯"] },
  { emoji: "🤼‍♀", members: ["👩", "👩"], between: ["🫯"] },
];

/** Builds the tables of emoji names, which have about 4,000 entries. */
export function readEmojiNames(): EmojiNames {
  const packaged = require("unicode-emoji-json") as Readonly<Record<string, EmojiEntry>>;
  const entries = { ...youngest, ...packaged };
  const nameOf = new Map<string, string>();
  const emojiOf = new Map<string, string>();
  for (const [emoji, name] of [...tones, ...hair]) {
    nameOf.set(emoji, name);
    emojiOf.set(name, emoji);
  }
  for (const [emoji, entry] of Object.entries(entries)) {
    const bare = emoji.replaceAll(emojiSelector, "");
    const name = irregularNames[emoji] ?? regularName(entry);
    nameOf.set(bare, name);
    emojiOf.set(name, emoji);
    if (entry.skin_tone_support) addToned(nameOf, bare, name);
  }
  for (const pair of pairs) addTonedPair(nameOf, pair);
  return { nameOf, emojiOf, beginnings: beginningsOf(nameOf.keys()) };
}

function beginningsOf(keys: Iterable<string>): ReadonlySet<string> {
  const beginnings = new Set<string>();
  for (const key of keys) {
    let beginning = "";
    for (const character of key) beginnings.add((beginning += character));
  }
  return beginnings;
}

function regularName(entry: EmojiEntry): string {
  const name = entry.group === "Flags" ? entry.name.replace(/^flag /, "") : entry.name;
  return name
    .replaceAll(/[:,“”]/g, "")
    .replaceAll(" - ", "-")
    .replaceAll(" ", "_");
}

/** Adds all skin-tone variants of an emoji. If the emoji shows two people, each of them has its own tone. */
function addToned(nameOf: Map<string, string>, bare: string, name: string): void {
  const links = bare.split(joiner);
  const toned = links.flatMap((link, index) => {
    // In a sequence of two people, the middle character (such as a handshake) has no skin tone.
    const isBetween = index > 0 && index < links.length - 1;
    // Uses the data package to decide which single emoji support skin tones, because Node.js may know only an older
    // Unicode.
    const isPerson = links.length === 1 || /\p{Emoji_Modifier_Base}/u.test(link);
    return isPerson && !isBetween ? [index] : [];
  });
  const withTones = (chosen: readonly string[]): string =>
    links
      .map((link, index) => {
        const tone = chosen[toned.indexOf(index)];
        return tone === undefined ? link : tonedLink(link, tone);
      })
      .join(joiner);
  if (toned.length === 1) {
    for (const [tone, toneName] of tones) nameOf.set(withTones([tone]), tonedName(name, toneName));
    return;
  }
  for (const [left, leftName] of tones) {
    for (const [right, rightName] of tones) {
      const suffix = left === right ? leftName : `${leftName}_${rightName}`;
      nameOf.set(withTones([left, right]), `${name}_${suffix}`);
    }
  }
}

/** Inserts the skin tone after the person but before the hair, as in CLDR's "man: dark skin tone, bald". */
function tonedName(name: string, toneName: string): string {
  const match = /^(man|woman|person)_(bald|beard|(?:blond|curly|red|white)_hair)$/.exec(name);
  return match === null ? `${name}_${toneName}` : `${match[1]}_${toneName}_${match[2]}`;
}

/** Inserts the skin tone directly after the person's character, before all other characters. */
function tonedLink(link: string, tone: string): string {
  const [person, ...rest] = link;
  return [person, tone, ...rest].join("");
}

function addTonedPair(nameOf: Map<string, string>, pair: (typeof pairs)[number]): void {
  const name = pair.name ?? nameOf.get(pair.emoji);
  if (name === undefined) return;
  const [left, right] = pair.members;
  for (const [leftTone, leftName] of tones) {
    for (const [rightTone, rightName] of tones) {
      if (leftTone === rightTone) continue;
      const sequence = [left + leftTone, ...pair.between, right + rightTone].join(joiner);
      nameOf.set(sequence, `${name}_${leftName}_${rightName}`);
    }
  }
}
