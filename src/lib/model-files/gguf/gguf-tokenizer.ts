// Converts the tokenizer in a GGUF file to the two files of a Hugging Face folder: tokenizer.json and
// tokenizer_config.json. Sources: llama.cpp's interpretation of the same metadata (llama-vocab), and Transformers'
// converters for SentencePiece.
import type { GgufMetadata } from "./metadata.ts";

export interface TokenizerObjects {
  /** Content of tokenizer.json. */
  readonly tokenizer: Readonly<Record<string, unknown>>;
  /** Content of tokenizer_config.json. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** Key with the content of tokenizer.json. A file has it if its other keys do not describe the tokenizer exactly. */
export const wholeTokenizerKey = "tokenizer.huggingface.json";

/** Kinds of tokens in `tokenizer.ggml.token_type`. */
export const tokenKinds = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

interface Vocabulary {
  readonly tokens: readonly string[];
  /** Kind of each token; see {@link tokenKinds}. */
  readonly kinds: readonly number[];
}

/**
 * Converts the tokenizer.
 *
 * @throws ServiceError `unsupported` for an unsupported kind of tokenizer, or missing metadata
 */
export function ggufTokenizer(metadata: GgufMetadata): TokenizerObjects {
  const tokens = metadata.needed("tokenizer.ggml.tokens", metadata.texts("tokenizer.ggml.tokens"));
  const written = metadata.numbers("tokenizer.ggml.token_type") ?? tokens.map(() => tokenKinds.normal);
  const kinds = written.map((kind, id) => kindOf(kind, tokens[id]));
  const vocabulary: Vocabulary = { tokens, kinds };
  const model = metadata.text("tokenizer.ggml.model");
  if (kinds.length !== tokens.length) {
    throw metadata.error(`it has ${tokens.length} tokens and ${kinds.length} tokenizer.ggml.token_type`);
  }
  const special = { ...specialTokens(metadata, tokens), ...repeatedTokens(vocabulary) };
  const whole = metadata.text(wholeTokenizerKey);
  // Safe cast: the tokenizer's own file, which is checked when it is loaded.
  if (whole !== null)
    return { tokenizer: JSON.parse(whole) as TokenizerObjects["tokenizer"], config: special };
  if (model === null || !Object.hasOwn(kindsOfTokenizers, model))
    throw metadata.error(`its tokenizer is of the kind ${model}; gpt2, llama and gemma4 are read`);
  // Safe cast: the record has this key.
  const partsOf = kindsOfTokenizers[model as keyof typeof kindsOfTokenizers];
  const common = { version: "1.0", post_processor: postProcessor(metadata, tokens) };
  return { tokenizer: { ...common, ...partsOf(metadata, vocabulary) }, config: special };
}

/** Returns a token's kind. Some converters mark tokens that end answers as normal; as in llama.cpp, they are not. */
function kindOf(written: number, token: string | undefined): number {
  const isEnd = written === tokenKinds.normal && token !== undefined && endTexts.has(token);
  return isEnd ? tokenKinds.control : written;
}

/** Functions that return the parts of tokenizer.json that depend on the kind of tokenizer. */
const kindsOfTokenizers = {
  gpt2: (metadata: GgufMetadata, vocabulary: Vocabulary) => ({
    added_tokens: addedTokens(vocabulary, ["control", "unknown", "userDefined"]),
    ...byteLevel(metadata, vocabulary),
  }),
  llama: (metadata: GgufMetadata, vocabulary: Vocabulary) => ({
    added_tokens: takeBlanks(metadata, addedTokens(vocabulary, ["control", "unknown"])),
    ...sentencePiece(metadata, vocabulary),
  }),
  gemma4: (metadata: GgufMetadata, vocabulary: Vocabulary) => ({
    added_tokens: addedTokens(vocabulary, ["control", "unknown", "userDefined"]),
    ...rankedPieces(metadata, vocabulary),
  }),
};

interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly single_word: boolean;
  readonly lstrip: boolean;
  /** True if the token also consumes the blanks after it. */
  readonly rstrip: boolean;
  readonly normalized: boolean;
  readonly special: boolean;
}

/** Returns the tokens of these kinds as added tokens, which are matched in a text before any other processing. */
function addedTokens(
  { tokens, kinds }: Vocabulary,
  added: readonly (keyof typeof tokenKinds)[],
): readonly AddedToken[] {
  const addedKinds = new Set<number>(added.map((name) => tokenKinds[name]));
  return tokens.flatMap((content, id) => {
    if (!addedKinds.has(kinds[id])) return [];
    const special = kinds[id] !== tokenKinds.userDefined;
    return [{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special }];
  });
}

/**
 * Tokens of Phi-3 that do not consume the blanks after them, as in llama.cpp. Phi-3's GGUF files do not contain this
 * information.
 */
const phi3BlanksLeft: ReadonlySet<string> = new Set(["<unk>", "<s>", "<|endoftext|>"]);

function takeBlanks(metadata: GgufMetadata, added: readonly AddedToken[]): readonly AddedToken[] {
  if (metadata.text("general.architecture") !== "phi3") return added;
  return added.map((token) => ({ ...token, rstrip: !phi3BlanksLeft.has(token.content) }));
}

/** Returns the post-processor, which adds special tokens around texts that no chat template renders. */
function postProcessor(metadata: GgufMetadata, tokens: readonly string[]): unknown {
  // By default, texts begin with the beginning-of-text token in SentencePiece models and in two kinds of byte-level
  // models.
  const begins =
    ["llama", "gemma4"].includes(metadata.text("tokenizer.ggml.model") ?? "") ||
    preTokenizers[metadata.text("tokenizer.ggml.pre") ?? "default"]?.begins === true;
  const before =
    (metadata.flag("tokenizer.ggml.add_bos_token") ?? begins) ? metadata.usedTokenId("bos") : null;
  const after = metadata.flag("tokenizer.ggml.add_eos_token") === true ? metadata.usedTokenId("eos") : null;
  const part = (id: number | null): readonly unknown[] =>
    id === null ? [] : [{ SpecialToken: { id: tokens[id], type_id: 0 } }];
  const used = [before, after].filter((id) => id !== null);
  if (used.length === 0) return null;
  const named = used.map((id) => [tokens[id], { id: tokens[id], ids: [id], tokens: [tokens[id]] }]);
  const single = [...part(before), { Sequence: { id: "A", type_id: 0 } }, ...part(after)];
  const pair = [...single, ...part(before), { Sequence: { id: "B", type_id: 1 } }, ...part(after)];
  return { type: "TemplateProcessing", single, pair, special_tokens: Object.fromEntries(named) };
}

function specialTokens(metadata: GgufMetadata, tokens: readonly string[]): Readonly<Record<string, unknown>> {
  const roles = { bos_token: "bos", eos_token: "eos", unk_token: "unknown", pad_token: "padding" } as const;
  const named = Object.entries(roles).flatMap(([field, role]) => {
    const id = metadata.tokenId(role);
    return id === null || tokens[id] === undefined ? [] : [[field, tokens[id]] as const];
  });
  return { tokenizer_class: "PreTrainedTokenizerFast", ...Object.fromEntries(named), ...templates(metadata) };
}

/** Returns the chat template, or a list of named templates that includes the default one. */
function templates(metadata: GgufMetadata): Readonly<Record<string, unknown>> {
  const key = "tokenizer.chat_template";
  const [usual, names] = [metadata.text(key), metadata.texts("tokenizer.chat_templates") ?? []];
  const named = names.flatMap((name) => {
    const template = metadata.text(`${key}.${name}`);
    return template === null ? [] : [{ name, template }];
  });
  if (usual === null && named.length === 0) return {};
  if (named.length === 0) return { chat_template: usual };
  return { chat_template: [...(usual === null ? [] : [{ name: "default", template: usual }]), ...named] };
}

interface PreTokenizer {
  /** Regular expression that splits a text into pieces before tokens are merged; null for GPT-2's. */
  readonly pieces: string | null;
  /** True if every digit is a separate piece. */
  readonly splitsDigits?: boolean;
  /** True if a piece that equals a token becomes this token, regardless of merges. */
  readonly takesWholePieces?: boolean;
  /** True if texts begin with the beginning-of-text token by default. */
  readonly begins?: boolean;
  readonly normalizer?: "NFC";
}

const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const rest = String.raw` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const restWithSlash = String.raw` ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const upper = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const lower = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
const before = String.raw`[^\r\n\p{L}\p{N}]?`;

const threeDigits = String.raw`${contractions}|${before}\p{L}+|\p{N}{1,3}|${rest}`;
const oneDigit = String.raw`${contractions}|${before}\p{L}+|\p{N}|${rest}`;
const seedCoder = String.raw`${contractions}|${before}\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+`;
const withCase = (suffix: string, digits: string): string =>
  String.raw`${before}${upper}*${lower}+${suffix}|${before}${upper}+${lower}*${suffix}|${digits}|${restWithSlash}`;

const gpt2: PreTokenizer = { pieces: null };
const gpt2Digits: PreTokenizer = { pieces: null, splitsDigits: true };
const llama3: PreTokenizer = { pieces: threeDigits, takesWholePieces: true, begins: true };
const qwen2: PreTokenizer = { pieces: oneDigit, normalizer: "NFC" };
/** Like Qwen 2's pre-tokenizer, but with combining marks as parts of words. */
const qwen35: PreTokenizer = {
  pieces: String.raw`${contractions}|${before}[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  normalizer: "NFC",
};

/**
 * Pre-tokenizers by `tokenizer.ggml.pre`, for files of the supported architectures. SmolLM2 says `smollm`, Granite 3
 * `refact`, Granite 4 `granite-docling`, OLMo 2 and Phi-4 `dbrx`, Phi-4-mini `gpt-4o`; models with Llama 3's tokenizer
 * (SmolLM3) say `llama-bpe` or `smaug-bpe`, newer Mistral models `tekken`, Qwen `qwen2`.
 */
const preTokenizers: Readonly<Record<string, PreTokenizer>> = {
  "gpt-2": gpt2,
  "phi-2": gpt2,
  gigachat: gpt2,
  "a.x-4.0": gpt2,
  mellum: gpt2,
  trillion: gpt2,
  olmo: gpt2,
  "granite-docling": gpt2,
  smollm: gpt2Digits,
  starcoder: gpt2Digits,
  refact: gpt2Digits,
  "command-r": gpt2Digits,
  "minerva-7b": gpt2Digits,
  "llama-bpe": llama3,
  llama3,
  "llama-v3": llama3,
  falcon3: llama3,
  lfm2: llama3,
  pixtral: llama3,
  "midm-2.0": llama3,
  "smaug-bpe": { pieces: threeDigits },
  dbrx: { pieces: threeDigits },
  qwen2,
  qwen35,
  "deepseek-r1-qwen": qwen2,
  megrez: qwen2,
  kormo: qwen2,
  "seed-coder": { pieces: seedCoder },
  stablelm2: { pieces: oneDigit },
  tekken: { pieces: withCase("", String.raw`\p{N}`), takesWholePieces: true, begins: true },
  "gpt-4o": { pieces: withCase(`${contractions}?`, String.raw`\p{N}{1,3}`) },
  llama4: { pieces: withCase(`${contractions}?`, String.raw`\p{N}{1,3}`) },
};

/** A pre-tokenizer's name, and whether it splits every text as the tokenizer does. */
export interface NamedPreTokenizer {
  readonly name: string;
  readonly isExact: boolean;
}

/**
 * Returns the pre-tokenizer of a byte-level tokenizer: one that splits texts by the same rules or, if llama.cpp has
 * none, one that is as close as possible.
 *
 * @param tokenizer content of tokenizer.json
 */
export function preTokenizerLike(tokenizer: Readonly<Record<string, unknown>>): NamedPreTokenizer {
  const own = preTokenizerIn(tokenizer);
  const found = Object.entries(preTokenizers).find(
    ([, { pieces, splitsDigits = false, takesWholePieces = false, normalizer = null }]) =>
      pieces === own.pieces &&
      splitsDigits === own.splitsDigits &&
      takesWholePieces === own.takesWholePieces &&
      normalizer === own.normalizer,
  );
  if (found !== undefined) return { name: found[0], isExact: true };
  return { name: own.takesWholePieces ? "llama-bpe" : own.splitsDigits ? "smollm" : "gpt-2", isExact: false };
}

interface Step {
  readonly type?: string;
  readonly pattern?: { readonly Regex?: string };
  readonly individual_digits?: boolean;
  readonly use_regex?: boolean;
  readonly pretokenizers?: readonly Step[];
  readonly normalizers?: readonly Step[];
}

/**
 * Describes a tokenizer's rules like an entry of {@link preTokenizers}. If a rule is unknown, the description equals no
 * entry.
 */
function preTokenizerIn(tokenizer: Readonly<Record<string, unknown>>) {
  // Safe casts: Hone has loaded this tokenizer.
  const [pre, norm] = [tokenizer["pre_tokenizer"], tokenizer["normalizer"]] as (Step | null | undefined)[];
  const model = (tokenizer["model"] ?? {}) as { readonly ignore_merges?: boolean };
  const steps = pre?.pretokenizers ?? (pre ? [pre] : []);
  const patterns = steps.flatMap((step) => step.pattern?.Regex ?? []);
  const usesGpt2 = steps.some(({ type, use_regex: uses }) => type === "ByteLevel" && uses !== false);
  const isKnown = steps.every(({ type }) => ["ByteLevel", "Split", "Digits"].includes(type ?? ""));
  return {
    pieces: !isKnown ? "" : usesGpt2 && patterns.length === 0 ? null : patterns.join("\n"),
    splitsDigits: steps.some(({ individual_digits: isSplit }) => isSplit === true),
    takesWholePieces: model.ignore_merges === true,
    normalizer: (norm?.normalizers ?? (norm ? [norm] : [])).map(({ type }) => type).join() || null,
  };
}

/** True if texts begin with the beginning-of-text token unless the file says otherwise. */
export function beginsByDefault(preTokenizer: string): boolean {
  return preTokenizers[preTokenizer]?.begins === true;
}

function byteLevel(metadata: GgufMetadata, { tokens, kinds }: Vocabulary): Readonly<Record<string, unknown>> {
  const name = metadata.needed("tokenizer.ggml.pre", metadata.text("tokenizer.ggml.pre"));
  const kind = preTokenizers[name];
  if (kind === undefined) {
    throw metadata.error(`its pre-tokenizer is ${name}; ${Object.keys(preTokenizers).join(", ")} are known`);
  }
  const usesGpt2 = kind.pieces === null;
  const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: usesGpt2 };
  const split = { type: "Split", pattern: { Regex: kind.pieces }, behavior: "Isolated", invert: false };
  const digits = kind.splitsDigits === true ? [{ type: "Digits", individual_digits: true }] : [];
  const merges = metadata.needed("tokenizer.ggml.merges", metadata.texts("tokenizer.ggml.merges"));
  return {
    normalizer: kind.normalizer === undefined ? null : { type: kind.normalizer },
    pre_tokenizer: { type: "Sequence", pretokenizers: [...digits, ...(usesGpt2 ? [] : [split]), bytes] },
    decoder: { ...bytes, use_regex: true },
    model: {
      type: "BPE",
      ignore_merges: kind.takesWholePieces ?? false,
      vocab: vocabularyOf(tokens, kinds),
      merges,
    },
  };
}

/** Names of filler tokens, for ids beyond a model's real tokens; no text contains them. */
const fillers = /^\[(?:PAD|EMPTY_)\d+\]$/;

function vocabularyOf(tokens: readonly string[], kinds: readonly number[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    tokens.flatMap((token, id) => (isFiller(token, kinds[id]) ? [] : [[token, id] as const])),
  );
}

function isFiller(token: string, kind: number | undefined): boolean {
  return kind === tokenKinds.unused && fillers.test(token);
}

/** Returns the number of tokens without the fillers at the end, which need no row of the embedding. */
export function usedTokenCount(metadata: GgufMetadata): number {
  const kinds = metadata.numbers("tokenizer.ggml.token_type") ?? [];
  const tokens = metadata.texts("tokenizer.ggml.tokens") ?? [];
  return tokens.findLastIndex((token, id) => !isFiller(token, kinds[id])) + 1;
}

/**
 * Returns tokens that occur under several ids. tokenizer.json maps each token to one id, the last one; the token's
 * other ids are listed separately, so that they can be decoded too.
 */
function repeatedTokens({ tokens, kinds }: Vocabulary): Readonly<Record<string, unknown>> {
  const last = new Map(tokens.map((token, id) => [token, id]));
  const repeated = tokens.flatMap((token, id) =>
    last.get(token) === id || kinds[id] !== tokenKinds.normal ? [] : [[id, token] as const],
  );
  return repeated.length === 0 ? {} : { repeated_tokens: Object.fromEntries(repeated) };
}

const blank = "\u2581";

function sentencePiece(metadata: GgufMetadata, written: Vocabulary): Readonly<Record<string, unknown>> {
  const vocabulary = spellBlanks(written);
  const { tokens, kinds } = vocabulary;
  const blanks = { type: "Replace", pattern: { String: " " }, content: blank };
  const beginsWithBlank = metadata.flag("tokenizer.ggml.add_space_prefix") ?? true;
  const normalizers = [...(beginsWithBlank ? [{ type: "Prepend", prepend: blank }] : []), blanks];
  const unknown = metadata.tokenId("unknown") ?? kinds.indexOf(tokenKinds.unknown);
  const scores = metadata.needed("tokenizer.ggml.scores", metadata.numbers("tokenizer.ggml.scores"));
  const pieces = userDefinedPieces(vocabulary);
  return {
    normalizer: { type: "Sequence", normalizers },
    pre_tokenizer: pieces,
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: blank }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        ...(beginsWithBlank ? [{ type: "Strip", content: " ", start: 1, stop: 0 }] : []),
      ],
    },
    model: {
      type: "BPE",
      unk_token: tokens[unknown] ?? null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: pieces !== null,
      vocab: vocabularyOf(tokens, kinds),
      merges: mergesOf(tokens, kinds, scores),
    },
  };
}

/** Returns Gemma 4's tokenizer: characters and bytes as in SentencePiece, but merges in the order of a list. */
function rankedPieces(
  metadata: GgufMetadata,
  { tokens, kinds }: Vocabulary,
): Readonly<Record<string, unknown>> {
  const unknown = metadata.tokenId("unknown") ?? kinds.indexOf(tokenKinds.unknown);
  return {
    normalizer: { type: "Replace", pattern: { String: " " }, content: blank },
    pre_tokenizer: null,
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: blank }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
      ],
    },
    model: {
      type: "BPE",
      unk_token: tokens[unknown] ?? null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab: vocabularyOf(tokens, kinds),
      merges: metadata.needed("tokenizer.ggml.merges", metadata.texts("tokenizer.ggml.merges")),
    },
  };
}

/**
 * Converters write plain blanks in user-defined tokens. Replaces them by the spelling that all other tokens use for
 * blanks.
 */
function spellBlanks({ tokens, kinds }: Vocabulary): Vocabulary {
  const taken = new Set(tokens);
  const spelled = (token: string, id: number): string => {
    const other = token.replaceAll(" ", blank);
    return kinds[id] === tokenKinds.userDefined && !taken.has(other) ? other : token;
  };
  return { tokens: tokens.map(spelled), kinds };
}

/**
 * Returns the pre-tokenizer that makes user-defined tokens separate pieces, which become tokens regardless of merges.
 * SentencePiece cuts these tokens out of the normalized text, the longest first, and puts no blank after them. A text
 * that looks like the spelling of a byte is split, so that it is not taken for that byte.
 */
function userDefinedPieces({ tokens, kinds }: Vocabulary): object | null {
  const defined = tokens.filter((token, id) => kinds[id] === tokenKinds.userDefined && token !== "");
  if (defined.length === 0) return null;
  const longestFirst = defined.sort((one, other) => other.length - one.length);
  const escaped = longestFirst.map((token) => token.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  const pattern = { Regex: [...escaped, `(?<!${blank})<(?=0x[0-9A-F]{2}>)`].join("|") };
  return { type: "Split", pattern, behavior: "Isolated", invert: false };
}

/**
 * Returns the merges. SentencePiece merges the pair that makes the token of the highest score. So each way to split a
 * token into two other tokens is a merge, in the order of scores, as in Transformers' converter.
 */
function mergesOf(
  tokens: readonly string[],
  kinds: readonly number[],
  scores: readonly number[],
): readonly (readonly [string, string])[] {
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const merges = tokens.flatMap((token, id) => {
    if (kinds[id] !== tokenKinds.normal) return [];
    const cuts = cutsOf(token).flatMap(([left, right]) => {
      const [leftId, rightId] = [ids.get(left), ids.get(right)];
      if (leftId === undefined || rightId === undefined) return [];
      return [{ left, right, leftId, rightId, score: scores[id] }];
    });
    return cuts.sort((one, other) => one.leftId - other.leftId || one.rightId - other.rightId);
  });
  merges.sort(
    (one, other) =>
      other.score - one.score ||
      characterCount(other.left) - characterCount(one.left) ||
      characterCount(other.right) - characterCount(one.right),
  );
  return merges.map(({ left, right }) => [left, right]);
}

/** Returns every split of a text into two parts between characters. */
function cutsOf(text: string): readonly (readonly [string, string])[] {
  const cuts: (readonly [string, string])[] = [];
  let at = 0;
  for (const character of text) {
    at += character.length;
    if (at < text.length) cuts.push([text.slice(0, at), text.slice(at)]);
  }
  return cuts;
}

function characterCount(text: string): number {
  return Array.from(text).length;
}

/** Tokens that end an answer in some family of models, even if the metadata does not say so. */
const endTexts: ReadonlySet<string> = new Set([
  "<|eot_id|>",
  "<|eom_id|>",
  "<|im_end|>",
  "<|end|>",
  "<|return|>",
  "<|call|>",
  "<|end_of_text|>",
  "<|endoftext|>",
  "<end_of_turn>",
  "<eos>",
  "<turn|>",
  "<|tool_response>",
]);

/**
 * Returns the ids of the tokens that end an answer. The file names one to three of them; as in llama.cpp, the others are
 * found by their texts.
 */
export function endOfTextIds(metadata: GgufMetadata): readonly number[] {
  const named = ["eos", "eot", "eom"].flatMap((role) => metadata.tokenId(role) ?? []);
  const tokens = metadata.texts("tokenizer.ggml.tokens") ?? [];
  // In gpt-oss's tokenizer, this token ends only one of several messages of an answer.
  const isHarmony = ["<|return|>", "<|call|>"].every((text) => tokens.includes(text));
  const ends = (token: string): boolean => endTexts.has(token) && !(isHarmony && token === "<|end|>");
  return [...new Set([...named, ...tokens.flatMap((token, id) => (ends(token) ? [id] : []))])];
}
