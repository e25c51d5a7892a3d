// Runs one request at one replica (one of the vLLM servers of a base model), from loading its adapter to its last
// token.
import type {
  AdapterReference,
  GenerationEvent,
  GenerationRequest,
  PromptLogprob,
} from "../../base/domain/generation.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { Replica } from "./replicas/replica.ts";
import { AnswerReader, failureOf } from "./client/answer-reader.ts";
import { completionBody, promptBody } from "./client/completion-body.ts";
import { masksLogprobs, ScoredAnswer } from "./client/scored-answer.ts";
import type { ServerFacts } from "./client/server-facts.ts";
import { malformedAnswer } from "./client/vllm-errors.ts";

export interface AnswerPlace {
  readonly replica: Pick<Replica, "server" | "adapters">;
  readonly facts: ServerFacts;
  readonly vocabularySize: number;
  readonly signal: AbortSignal;
}

type Batches = AsyncGenerator<readonly GenerationEvent[]>;

/**
 * Yields the events of an answer in the order of the engine contract. Leaving the generator aborts the request at the
 * server.
 *
 * @throws ServiceError the failure of the request
 */
export function answerRequest(request: GenerationRequest, at: AnswerPlace): Batches {
  const { adapter } = request.prompt;
  return adapter === null
    ? unadaptedAnswer(request, at.facts.model, at)
    : adaptedAnswer(request, adapter, at);
}

/**
 * Runs a request with an adapter. Retries once if vLLM does not have the adapter loaded, because vLLM was restarted or
 * another Hone server has unloaded it.
 */
async function* adaptedAnswer(
  request: GenerationRequest,
  adapter: AdapterReference,
  at: AnswerPlace,
): Batches {
  const { adapters } = at.replica;
  for (let isFirst = true, hasBegun = false; ; isFirst = false) {
    const use = await adapters.use(adapter, at);
    try {
      for await (const events of unadaptedAnswer(request, use.name, at)) {
        hasBegun = true;
        yield events;
      }
      return;
    } catch (error) {
      // If another server holds the prompt, the request is not retried, because the refused attempt has already
      // released the held prompt.
      const isOnce = request.prompt.passed !== undefined;
      if (!isFirst || hasBegun || isOnce || !isUnknown(error)) throw error;
      adapters.forget(use.name);
    } finally {
      use.release();
    }
  }
}

function unadaptedAnswer(request: GenerationRequest, model: string, at: AnswerPlace): Batches {
  const answer = masksLogprobs(request)
    ? scoredAnswer(request, model, at)
    : unscoredAnswer(request, model, at);
  return request.outputs.promptLogprobCount === null ? answer : judgedAnswer(request, answer, { model, at });
}

/** First yields an event with the log-probabilities of the prompt, then the answer's events. */
async function* judgedAnswer(
  request: GenerationRequest,
  answer: Batches,
  { model, at }: { readonly model: string; readonly at: AnswerPlace },
): Batches {
  yield [{ kind: "prompt-logprobs", tokens: await scoresOf(request, model, at) }];
  yield* answer;
}

function unscoredAnswer(request: GenerationRequest, model: string, at: AnswerPlace): Batches {
  const isHeld = request.prompt.passed?.["do_remote_decode"] === true;
  return isHeld ? heldAnswer(request, model, at) : plainAnswer(request, model, at);
}

/**
 * Yields an answer with the parameters that another server needs to continue with the prompt. The answer is not
 * streamed, because vLLM's streams omit these parameters.
 */
async function* heldAnswer(
  request: GenerationRequest,
  model: string,
  { replica: { server }, vocabularySize, signal }: AnswerPlace,
): Batches {
  const reader = new AnswerReader(request, { vocabularySize });
  const body = completionBody(request, model, { vocabularySize });
  const { chunks, passed } = await server.answer(body, { signal });
  yield [
    { kind: "prompt-computed", cachedTokenCount: 0, ...(passed !== null && { passed }) },
    ...chunks.flatMap((chunk) => reader.read(chunk)),
    ...reader.end(),
  ];
}

async function* plainAnswer(
  request: GenerationRequest,
  model: string,
  { replica: { server }, vocabularySize, signal }: AnswerPlace,
): Batches {
  const reader = new AnswerReader(request, { vocabularySize });
  // The count of cached tokens is 0 here, because vLLM reports it only at the end of an answer, and by default not at
  // all.
  let opening: readonly GenerationEvent[] = [{ kind: "prompt-computed", cachedTokenCount: 0 }];
  const body = completionBody(request, model, { vocabularySize });
  try {
    for await (const { chunks, isLast } of server.stream(body, { signal })) {
      const events = [...opening, ...chunks.flatMap((chunk) => reader.read(chunk))];
      opening = [];
      const all = isLast ? [...events, ...reader.end()] : events;
      if (all.length > 0) yield all;
    }
  } catch (error) {
    if (!reader.isWhole || signal.aborted) throw failureOf(error, request);
    // The answer was not streamed, so it is complete at this point.
    yield reader.end();
  }
}

/**
 * Answers a request whose log-probabilities need a second request. Yields the events of each choice only once that
 * choice has ended.
 */
async function* scoredAnswer(request: GenerationRequest, model: string, at: AnswerPlace): Batches {
  const scored = new ScoredAnswer(request, at.facts);
  for await (const events of unscoredAnswer(scored.unscored, model, at)) {
    const opening = events.filter(({ kind }) => kind === "prompt-computed" || kind === "prompt-cached");
    if (opening.length > 0) yield opening;
    for (const ended of scored.take(events))
      yield scored.withScores(ended, await scoresOf(scored.asPrompt(ended), model, at));
  }
}

/** Returns the log-probabilities of a request's prompt, each with the requested number of alternatives. */
async function scoresOf(
  request: GenerationRequest,
  model: string,
  { replica: { server }, vocabularySize, signal }: AnswerPlace,
): Promise<readonly (PromptLogprob | null)[]> {
  const count = request.outputs.promptLogprobCount ?? 0;
  const { promptTokenIds, promptLogprobs } = await server.complete(
    promptBody(request, model, { vocabularySize }),
    {
      signal,
    },
  );
  const { tokenIds } = request.prompt;
  if (promptTokenIds.length !== tokenIds.length || promptTokenIds.some((id, index) => id !== tokenIds[index]))
    throw malformedAnswer("the prompt that was asked about");
  if (promptLogprobs.some((token) => token?.alternatives.some(({ id }) => id >= vocabularySize)))
    throw malformedAnswer("alternatives of the model");
  // If the prompt's own token is not among the alternatives, vLLM adds it, so the list is cut to the requested count.
  return promptLogprobs.map(
    (token) => token && { ...token, alternatives: token.alternatives.slice(0, count) },
  );
}

function isUnknown(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "not_found";
}
