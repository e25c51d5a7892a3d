// One request at one replica, from its adapter to its last token.
import type { GenerationEvent, GenerationRequest } from "../domain/generation.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { Replica } from "./replicas/replica.ts";
import { AnswerReader } from "./vllm/answer-reader.ts";
import { completionBody, promptBody } from "./vllm/completion-body.ts";
import type { ServerFacts } from "./vllm/server-facts.ts";

interface At {
  readonly replica: Replica;
  readonly facts: ServerFacts;
  readonly vocabularySize: number;
  readonly signal: AbortSignal;
}

/**
 * The events of an answer, in the order that the contract of engines says; whoever leaves them ends the request at the server.
 *
 * @throws ServiceError
 */
export async function* answerRequest(
  request: GenerationRequest,
  at: At,
): AsyncGenerator<readonly GenerationEvent[]> {
  const { adapter } = request.prompt;
  if (adapter === null) return yield* answerAs(request, at.facts.model, at);
  const { adapters } = at.replica;
  let use = await adapters.use(adapter, at);
  let hasBegun = false;
  try {
    try {
      for await (const events of answerAs(request, use.name, at)) {
        hasBegun = true;
        yield events;
      }
      return;
    } catch (error) {
      if (hasBegun || !isUnknown(error)) throw error;
    }
    // It was started again, or another server of this program unloaded it to make room.
    use.release();
    adapters.forget(use.name);
    use = await adapters.use(adapter, at);
    yield* answerAs(request, use.name, at);
  } finally {
    use.release();
  }
}

async function* answerAs(
  request: GenerationRequest,
  model: string,
  { replica: { server }, vocabularySize, signal }: At,
): AsyncGenerator<readonly GenerationEvent[]> {
  const { promptLogprobCount } = request.outputs;
  if (promptLogprobCount !== null) {
    const asked = promptBody(request, model, { vocabularySize });
    const { promptLogprobs } = await server.complete(asked, { signal });
    // vLLM adds the token itself where it is not among them.
    const tokens = promptLogprobs.map(
      (token) => token && { ...token, alternatives: token.alternatives.slice(0, promptLogprobCount) },
    );
    yield [{ kind: "prompt-logprobs", tokens }];
  }
  const reader = new AnswerReader(request, { vocabularySize });
  // How much of a prompt was there already vLLM says at the end of an answer alone, and unless told otherwise not at all.
  let opening: readonly GenerationEvent[] = [{ kind: "prompt-computed", cachedTokenCount: 0 }];
  for await (const chunks of server.stream(completionBody(request, model, { vocabularySize }), { signal })) {
    yield [...opening, ...chunks.flatMap((chunk) => reader.read(chunk))];
    opening = [];
  }
  reader.requireEnd();
}

function isUnknown(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "not_found";
}
