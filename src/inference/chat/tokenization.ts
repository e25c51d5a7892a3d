// Tokenizes prompts as chat would, and converts tokens back into text; generates no answers. Uses the threads that
// render and tokenize the base model's prompts, but not its engine.
import type { Caller } from "../../base/domain/access.ts";
import type { DetokenizeRequest, Tokenized, TokenizeRequest } from "../../base/domain/chat.ts";
import type { ModelDirectory } from "../models/registry/model-directory.ts";
import { requireFits } from "../chat-templates/encode-prompt.ts";
import { promptRefusal } from "../chat-templates/prompt-faults.ts";
import { servedContextLength, type ServedBase, type ServedBases } from "./served-base.ts";

export interface TokenizationService {
  /**
   * Tokenizes a prompt as chat would.
   *
   * @throws ServiceError `unsupported` if the template refuses the messages, or for too many tokens; `overloaded`;
   * `cancelled`; for the model's name, the same errors as chat
   */
  tokenize(
    request: TokenizeRequest,
    caller: Caller,
    options: { readonly signal: AbortSignal },
  ): Promise<Tokenized>;
  /**
   * Returns the text of tokens, including special tokens.
   *
   * @throws ServiceError in the same cases as `tokenize()`, and `unsupported` for ids that the model lacks
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
 * Maximum number of tokens in a text or conversation to tokenize, and maximum number of tokens to convert into text.
 * It equals the longest context of current models.
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
        requireFits(tokenIds.length, "tokens", fit);
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

/**
 * Returns the number of valid token ids. Some of them may have no token, because a model's logits may cover more ids
 * than its tokenizer has.
 */
function vocabularySizeOf({ engine, tokenizer }: ServedBase): number {
  const { state } = engine.status();
  return Math.max(tokenizer.vocabularySize, state.kind === "ready" ? state.limits.vocabularySize : 0);
}
