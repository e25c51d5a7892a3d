// The project's rules for English that a program can check. Each rule has a name, and a forbidden pattern or a limit.

export interface Fault {
  readonly rule: string;
  /** The words that break the rule. */
  readonly words: string;
}

interface Pattern {
  readonly rule: string;
  readonly pattern: RegExp;
}

/** Patterns that are forbidden at the beginning of a comment, heading, list item or help text. */
const openings: readonly Pattern[] = [
  {
    rule: "open with a noun or a verb, not with a relative clause",
    pattern:
      /^(?:What|Whatever|Who|Whom|Whoever|Whose|Whether|Where|Wherever|Which|By what|In what|To what|From what)\b(?![^.]*\?)/,
  },
  { rule: 'open with a noun or a verb, not with a bare "Of"', pattern: /^Of\b/ },
];

/** Patterns that are forbidden at the beginning of any sentence. */
const sentenceOpenings: readonly Pattern[] = [
  {
    rule: "begin a sentence with its subject, not with a relative clause",
    pattern: /^(?:What(?:ever)?|Who(?:m|ever)?)\b(?!.*\?$)/,
  },
];

/** Patterns that are forbidden everywhere. */
const words: readonly Pattern[] = [
  { rule: 'write "only"', pattern: /(?<!stand-)\balone\b/i },
  { rule: 'write "next to" or "besides"', pattern: /\bbeside\b/i },
  {
    rule: 'write "anyone", "any" or "the" with a noun',
    pattern: /\b(?:whoever|whomever|whatever|whosoever)\b/i,
  },
  { rule: 'write "continues"', pattern: /\b(?:go|goes|going|went|gone) on\b/i },
  { rule: 'write "reports", "says" or "distinguishes"', pattern: /\btells\b/i },
  { rule: 'write "fails"', pattern: /\b(?:end|ends|ended) badly\b/i },
  { rule: 'write "each"', pattern: /\bevery one of (?:them|these|those)\b/i },
  { rule: 'use a noun in place of "what there is"', pattern: /\bwhat (?:there is|there are|is there)\b/i },
  { rule: 'use a noun in place of "what of"', pattern: /\bwhat of\b/i },
  {
    rule: 'name the thing instead of "of whom" or "of what"',
    pattern: /\b(?:of|by|for|with) (?:whom|what)\b(?!\?)/i,
  },
  { rule: 'at most one "what" a sentence', pattern: /\bwhat\b.*\bwhat\b/i },
];

export const sentenceWordsMax = 40;
export const commentSentencesMax = 3;

/** Splits a text into sentences. Abbreviations and decimal points do not end a sentence. */
export function sentencesOf(text: string): readonly string[] {
  return text
    .replace(/\b(?:e\.g|i\.e|etc|vs|cf|approx|No|Fig|al)\./g, (word) => word.slice(0, -1).replaceAll(".", ""))
    .split(/(?<=[.!?][)"'”]?)\s+(?=["'“(`[]?[A-Z0-9`])/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "");
}

const wordCount = (sentence: string): number =>
  sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;

/**
 * Returns the faults of one piece of prose: a paragraph, heading, list item, table cell, comment or help text.
 *
 * @param text prose in which each piece of inline code is replaced by one word
 */
export function faultsOf(text: string): readonly Fault[] {
  const found = (patterns: readonly Pattern[], subject: string): readonly Fault[] =>
    patterns.flatMap(({ rule, pattern }) => {
      const match = pattern.exec(subject);
      return match === null ? [] : [{ rule, words: match[0].slice(0, 60) }];
    });
  return [
    ...found(openings, text),
    ...sentencesOf(text).flatMap((sentence) => [
      ...found(sentenceOpenings, sentence),
      ...found(words, sentence),
      ...(wordCount(sentence) > sentenceWordsMax
        ? [
            {
              rule: `at most ${sentenceWordsMax} words a sentence`,
              words: `${wordCount(sentence)} words: ${sentence.slice(0, 60)}`,
            },
          ]
        : []),
    ]),
  ];
}
