// The pre_tokenizer of a tokenizer.json, with what the vendored encoder reads otherwise than the reference implementation
// written as expressions that it reads alike: blanks, digits, and letters of either case. Changes nothing else.

type Step = Readonly<Record<string, unknown>>;

/** How GPT-2 splits texts; `\s` is Unicode's White_Space here: U+0085 is a blank, U+FEFF is none. */
const gpt2Pieces = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

/** The same splits, in steps that the vendored encoder takes as they are meant. */
export function exactSplits(preTokenizer: unknown): unknown {
  if (typeof preTokenizer !== "object" || preTokenizer === null) return preTokenizer;
  const step = { ...preTokenizer } as Step;
  switch (step.type) {
    case "Sequence":
      return Array.isArray(step.pretokenizers)
        ? { ...step, pretokenizers: step.pretokenizers.map(exactSplits) }
        : step;
    case "Split":
      return { ...step, pattern: withFoldedLetters(step.pattern) };
    case "Digits":
      return isolated(step.individual_digits === true ? String.raw`\p{N}` : String.raw`\p{N}+`);
    case "ByteLevel":
      // A blank that is put before the text belongs to the first piece, so that it cannot come after the split.
      if (step.use_regex === false || step.add_prefix_space === true) return step;
      return { type: "Sequence", pretokenizers: [isolated(gpt2Pieces), { ...step, use_regex: false }] };
    default:
      return step;
  }
}

/** Two letters beyond ASCII are those of ASCII in another case: the long s and the sign of the kelvin. */
function withFoldedLetters(pattern: unknown): unknown {
  if (typeof pattern !== "object" || pattern === null || !("Regex" in pattern)) return pattern;
  if (typeof pattern.Regex !== "string") return pattern;
  const folded = (group: string): string =>
    group.replaceAll(/(?<!\\)s/gi, "[s\u017f]").replaceAll(/(?<!\\)k/gi, "[k\u212a]");
  return { Regex: pattern.Regex.replaceAll(/\(\?i:[^()[\]]*\)/g, folded) };
}

function isolated(expression: string): Step {
  return { type: "Split", pattern: { Regex: expression }, behavior: "Isolated", invert: false };
}
