// For tests: a chat service that answers from a script. It passes the contract of chat services.
import type { Caller } from "../../../base/domain/access.ts";
import type { BeginOptions } from "../../../inference/chat/complete-chat.ts";
import type {
  ChatCompletion,
  ChatDelta,
  ChatFinish,
  ChatHeader,
  ChatLogprob,
  ChatRequest,
  ChatUsage,
} from "../../../base/domain/chat.ts";
import type { ChatRecording } from "../../../base/domain/recordings/chat-recorder.ts";
import { choiceCountOf } from "../../../base/domain/generation.ts";
import type { Allowance, TokenReservation } from "../../../base/domain/keys/limits.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { ChatPort } from "../dependencies.ts";

/** Script by which a fake chat service answers. */
export interface ChatScript {
  /** Content of the deltas, in order. Each choice gets the same deltas. */
  pieces: readonly Partial<Pick<ChatDelta, "text" | "reasoning" | "toolCalls">>[];
  finish: ChatFinish["reason"];
  /** Stop string that ended each choice; null if no stop string did. */
  matchedStop: string | null;
  isTrained: boolean;
  notice: string | null;
  echo: string;
  /** Error thrown before the completion's header; null for none. */
  refusal: Error | null;
  /** Error thrown after the first delta; null for none. */
  failure: Error | null;
  /** Each request waits for this promise before it returns the header of its completion. */
  opens: Promise<void>;
  /** If true, the answer stops after its first delta and waits until the signal aborts. */
  hangs: boolean;
}

const words = new TextEncoder();

export class FakeChat implements ChatPort {
  readonly script: ChatScript = {
    pieces: [{ text: "Hel" }, { text: "lo" }],
    finish: "stop",
    matchedStop: null,
    isTrained: false,
    notice: null,
    echo: "",
    refusal: null,
    failure: null,
    opens: Promise.resolve(),
    hangs: false,
  };
  readonly seen: { readonly request: ChatRequest; readonly caller: Caller }[] = [];
  #onSeen: () => void = () => undefined;

  /** Begins to record the answer to a call of a rollout; null to record no answers. */
  record:
    | ((request: ChatRequest, caller: Caller, attempt: BeginOptions["attempt"]) => Promise<ChatRecording>)
    | null = null;

  /** Resolves when the next request has arrived. */
  nextSeen(): Promise<void> {
    return new Promise((resolve) => (this.#onSeen = resolve));
  }

  /** Number of completions whose signal has aborted. */
  abortedCount = 0;
  /** Called when a completion's signal has aborted. */
  onAbort: () => void = () => undefined;

  async begin(
    request: ChatRequest,
    caller: Caller,
    { signal, allowance = null, located = (error) => error, attempt }: BeginOptions,
  ): Promise<ChatCompletion> {
    this.seen.push({ request, caller });
    this.#onSeen();
    await this.script.opens;
    const { isTrained, echo, refusal, notice } = this.script;
    if (refusal !== null) throw located(refusal);
    const { unserved } = request;
    if (unserved.length > 0) throw located(new ServiceError({ code: "unsupported", faults: unserved }));
    if (signal.aborted) throw located(cancelled());
    const wantsLogprobs =
      request.output.logprobs !== null && (request.output.logprobs !== undefined || isTrained);
    const header: ChatHeader = {
      model: request.identity.model ?? "tiny",
      fingerprint: "tiny@base+test",
      createdAt: new Date(1_700_000_000_000),
      role: "assistant",
      choiceCount: choiceCountOf(request.output),
      echo,
      promptTokenIds: [1, 2, 3],
      echoedTokens: null,
      promptLogprobs: null,
      heldAt: null,
      notice,
      stages: { loadMs: 2, promptMs: 3 },
      logprobs: !wantsLogprobs ? "off" : request.output.logprobs === undefined ? "token-id" : "text",
      tokenIds: {
        top: request.output.returnTokenIds ?? false,
        inChoices: isTrained && request.output.returnTokenIds !== false,
      },
    };
    const usage = { promptTokens: 3, completionTokens: 0, cachedTokens: 2 };
    const { maxTokens } = request.stopping;
    const answerTokens = maxTokens === Infinity ? 0 : (maxTokens ?? 0);
    const reservation = reserved(allowance, 3 + answerTokens, located);
    const recording = caller.rollout ? ((await this.record?.(request, caller, attempt)) ?? null) : null;
    const deltas = this.#deltas(request, { signal, located, usage, reservation, wantsLogprobs, recording });
    const leave = async (): Promise<void> => {
      await deltas.return();
      reservation?.settle();
    };
    return { header, deltas, usage, recordedAs: recording?.key ?? null, leave };
  }

  async *#deltas(
    { output }: ChatRequest,
    {
      signal,
      located,
      usage,
      reservation,
      wantsLogprobs,
      recording,
    }: Required<Pick<BeginOptions, "signal" | "located">> & {
      readonly reservation: TokenReservation | null;
      readonly recording: ChatRecording | null;
      readonly usage: { -readonly [Member in keyof ChatUsage]: ChatUsage[Member] };
      readonly wantsLogprobs: boolean;
    },
  ): AsyncGenerator<readonly ChatDelta[], void> {
    try {
      for await (const deltas of this.#pieces(output, { signal, located, usage, wantsLogprobs })) {
        recording?.add(deltas);
        yield deltas;
      }
      await recording?.end(usage);
    } finally {
      reservation?.use(usage.promptTokens + usage.completionTokens);
      reservation?.settle();
    }
  }

  async *#pieces(
    output: ChatRequest["output"],
    {
      signal,
      located,
      usage,
      wantsLogprobs,
    }: Required<Pick<BeginOptions, "signal" | "located">> & {
      readonly usage: { -readonly [Member in keyof ChatUsage]: ChatUsage[Member] };
      readonly wantsLogprobs: boolean;
    },
  ): AsyncGenerator<readonly ChatDelta[], void> {
    const { pieces, finish, matchedStop, failure, hangs } = this.script;
    for (const [index, piece] of pieces.entries()) {
      for (let choice = 0; choice < choiceCountOf(output); choice++) {
        const isLast = index === pieces.length - 1;
        const { text = "", reasoning = "", toolCalls = [] } = piece;
        usage.completionTokens += 1;
        const delta: ChatDelta = {
          choice,
          text,
          reasoning,
          toolCalls,
          tokenIds: [10 + index],
          logprobs: wantsLogprobs ? [logprob(10 + index, text, output.logprobs?.topCount ?? 0)] : [],
          finish: isLast ? { reason: finish, stopReason: null, matchedStop } : null,
          usage: { ...usage },
          choiceTokens: index + 1,
        };
        yield [delta];
      }
      if (failure !== null) throw located(failure);
      if (hangs) await this.#aborted(signal).catch((error: unknown) => Promise.reject(located(error)));
    }
  }

  #aborted(signal: AbortSignal): Promise<never> {
    return new Promise((_resolve, reject) => {
      const onAbort = (): void => {
        this.abortedCount += 1;
        this.onAbort();
        reject(cancelled());
      };
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}

/** Reserves tokens of the allowance once the prompt is known, as the real chat service does. */
function reserved(
  allowance: Allowance | null,
  tokens: number,
  located: (error: unknown) => unknown,
): TokenReservation | null {
  try {
    allowance?.wait("tiny", 1024)();
    return allowance?.reserve(tokens) ?? null;
  } catch (error) {
    throw located(error);
  }
}

function cancelled(): ServiceError {
  return new ServiceError({ code: "cancelled", message: "The request was cancelled." });
}

function logprob(tokenId: number, text: string, topCount: number): ChatLogprob {
  const bytes = [...words.encode(text)];
  const alternatives = Array.from({ length: topCount }, (_, rank) => ({
    tokenId: tokenId + rank,
    text: rank === 0 ? text : `other${rank}`,
    bytes: [],
    logprob: rank === 0 ? -0.5 : -Infinity,
  }));
  return { tokenId, text, bytes, logprob: -0.5, alternatives };
}
