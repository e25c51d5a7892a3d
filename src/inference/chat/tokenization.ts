// Prompts as tokens and tokens as text, for clients who count: what a chat would make of them, without an answer. Made in
// the prompt threads of the base model, whose engine is not needed.
import type { Caller } from "../../base/domain/access.ts";
import type { DetokenizeRequest, Tokenized, TokenizeRequest } from "../../base/domain/chat.ts";
import type { ModelDirectory } from "../models/registry/model-directory.ts";
import { requireLength } from "../chat-templates/encode-prompt.ts";
import { promptRefusal } from "../chat-templates/prompt-faults.ts";
import { servedContextLength, type ServedBase, type ServedBases } from "./served-base.ts";

export interface TokenizationService {
  /**
   * @throws ServiceError for the model's name as a chat does; `unsupported` when the template refuses the messages, and for
   * more tokens than are counted; `overloaded`, `cancelled`
   */
  tokenize(
    request: TokenizeRequest,
    caller: Caller,
    options: { readonly signal: AbortSignal },
  ): Promise<Tokenized>;
  /**
   * The text of tokens, special ones too.
   *
   * @throws ServiceError as `tokenize`; `unsupported` for ids that the model lacks
   */
  detokenize(
    request: DetokenizeRequest,
    caller: Caller,
    options: { readonly signal: AbortSignal },
  ): Promise<string>;
}

interface Dependencies {
  readonly directory: Pick<ModelDirectory, "resolve">;
  readonly bases: ServedBases;
}

/**
 * Most tokens that a text or conversation may have that nothing answers, and most that are turned into text: what the longest
 * context of models in use holds.
 */
const fit = { purpose: "count", countMax: 128 * 1024 } as const;

export function createTokenizationService({ directory, bases }: Dependencies): TokenizationService {
  const withBase = async <Result>(
    name: string | null,
    caller: Caller,
    work: (base: ServedBase) => Promise<Result>,
  ): Promise<Result> => {
    const { base, release } = await bases.use((await directory.resolve(name, caller)).base);
    return work(base).finally(release);
  };
  return {
    tokenize: ({ model, prompt, wantsTexts }, caller, { signal }) =>
      withBase(model, caller, async (base) => {
        const { name: modelName } = base.model;
        const task = { prompt, fit, wantsTexts, badWords: [], modelName, vocabularySize: Infinity };
        const { tokenIds, texts } = await base.prompts.write(task, { client: caller.entity, signal });
        return { tokenIds, texts, contextLength: servedContextLength(base) };
      }),
    detokenize: ({ model, tokenIds }, caller, { signal }) =>
      withBase(model, caller, async (base) => {
        requireLength(tokenIds.length, "tokens", fit);
        const vocabularySize = vocabularySizeOf(base);
        const strange = tokenIds.find((id) => id >= vocabularySize);
        if (strange !== undefined) {
          const message = `The token id ${strange} is unknown: the model ${base.model.name} knows ids below ${vocabularySize}.`;
          throw promptRefusal("tokens", message);
        }
        return base.prompts.read(tokenIds, { client: caller.entity, signal });
      }),
  };
}

/** A model may give ids to which no token belongs: its logits may cover more of them than the tokenizer has. */
function vocabularySizeOf({ engine, tokenizer }: ServedBase): number {
  const { state } = engine.status();
  return Math.max(tokenizer.vocabularySize, state.kind === "ready" ? state.limits.vocabularySize : 0);
}
