// Builds the built-in model's vocabulary in the layout of tokenizer.json: byte-level BPE in which each frequent word is
// one token, and everything else is spelled byte by byte. The model thus sees the letters of rare words and the digits
// of numbers, which it needs to spell and to add.
// Pure; folder.ts writes the file.
import { systemTextOf, type Chat } from "../corpus/chats.ts";

export const specialTokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] as const;

/** Markers of tools and calls. Each is one token, but not a special token: the model writes it as ordinary text. */
const textMarks = ["<tools>", "</tools>", "<tool_call>", "</tool_call>"] as const;

/** Matches a word with its leading space, a digit, punctuation with its leading space, or white space. */
const pieces = String.raw` ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s`;

/** Returns the printable character by which GPT-2 represents each byte. */
function byteCharacters(): readonly string[] {
  const isPrintable = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
  let shift = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : shift++));
}

const characters = byteCharacters();

function spell(text: string): string {
  return [...Buffer.from(text, "utf8")].map((byte) => characters[byte]).join("");
}

/** Counts how often each piece occurs in the chats, including the role names. */
export function countPieces(chats: Iterable<Chat>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const count = (text: string): void => {
    for (const part of text.split(new RegExp(textMarks.join("|"), "u")))
      for (const piece of part.match(new RegExp(pieces, "gu")) ?? [])
        counts.set(piece, (counts.get(piece) ?? 0) + 1);
  };
  for (const chat of chats) {
    for (const role of ["system", "user", "assistant", "tool"]) count(role);
    count(systemTextOf(chat) ?? "");
    for (const { prompt, answer } of chat.turns) {
      count(prompt);
      count(answer);
    }
  }
  return counts;
}

/**
 * Selects the vocabulary: special tokens, tool markers, all bytes, then the most frequent words.
 *
 * @param size size of the whole vocabulary, including special tokens
 * @returns the value to write as tokenizer.json
 */
export function buildTokenizer(counts: ReadonlyMap<string, number>, size: number): object {
  const added = [...specialTokens, ...textMarks];
  const tokens: string[] = [...added, ...characters];
  const frequent = [...counts]
    .filter(([piece]) => piece.length > 1 && !/^\p{N}/u.test(piece))
    .sort(([pieceA, countA], [pieceB, countB]) => countB - countA || (pieceA < pieceB ? -1 : 1));
  tokens.push(...frequent.slice(0, size - tokens.length).map(([piece]) => spell(piece)));
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: added.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: id < specialTokens.length,
    })),
    normalizer: null,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: pieces }, behavior: "Isolated", invert: false },
        { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      // Makes each piece that is in the vocabulary one token, although no merges produce it.
      ignore_merges: true,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: [],
    },
  };
}
