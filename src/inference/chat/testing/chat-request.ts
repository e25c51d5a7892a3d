// For tests: a plain chat request, and changes to it.
import {
  plainConversation,
  type ChatPrompt,
  type ChatRequest,
  type ConversationPrompt,
  type TextPrompt,
  type TokenPrompt,
} from "../../../base/domain/chat.ts";
import type { Constraint } from "../../../base/domain/constraint.ts";

const plainRequest: ChatRequest & { readonly prompt: ConversationPrompt } = {
  identity: { requestId: "r1", model: null, user: null, priority: 0, cacheSalt: null },
  prompt: {
    kind: "conversation",
    messages: [{ role: "user", content: "hi" }],
    ...plainConversation,
    template: null,
    addSpecialTokens: false,
    truncation: null,
    echo: false,
  },
  sampling: {
    temperature: null,
    topP: null,
    topK: null,
    minP: null,
    topNSigma: null,
    repetitionPenalty: null,
    frequencyPenalty: null,
    presencePenalty: null,
    logitBias: null,
    allowedTokenIds: null,
    badWords: null,
    processors: null,
    extraArguments: null,
    seed: null,
  },
  constraint: null,
  calls: { choice: undefined, areParallel: true, areExempt: false, texts: [] },
  stopping: {
    maxTokens: null,
    minTokens: 0,
    stop: [],
    stopTokenIds: [],
    ignoreEndTokens: false,
    includeStopText: false,
  },
  output: {
    choices: { kind: "sample", count: 1 },
    logprobs: undefined,
    promptLogprobCount: null,
    returnTokenIds: undefined,
    skipSpecialTokens: true,
    includeReasoning: true,
  },
  recording: { isWanted: null, metadata: {} },
  passing: null,
  unserved: [],
};

/** Changes to the fields of a plain request, by group. */
export interface RequestChanges {
  readonly identity?: Partial<ChatRequest["identity"]>;
  /** A prompt of another kind, or changes to the plain conversation. */
  readonly prompt?: TextPrompt | TokenPrompt | Partial<ConversationPrompt>;
  readonly sampling?: Partial<ChatRequest["sampling"]>;
  readonly constraint?: Constraint;
  readonly calls?: Partial<ChatRequest["calls"]>;
  readonly stopping?: Partial<ChatRequest["stopping"]>;
  readonly output?: Partial<ChatRequest["output"]>;
  readonly recording?: Partial<ChatRequest["recording"]>;
  readonly unserved?: ChatRequest["unserved"];
}

export function chatRequest(changes: RequestChanges = {}): ChatRequest {
  return {
    identity: { ...plainRequest.identity, ...changes.identity },
    prompt: chatPrompt(changes.prompt),
    sampling: { ...plainRequest.sampling, ...changes.sampling },
    constraint: changes.constraint ?? null,
    calls: { ...plainRequest.calls, ...changes.calls },
    stopping: { ...plainRequest.stopping, ...changes.stopping },
    output: { ...plainRequest.output, ...changes.output },
    recording: { ...plainRequest.recording, ...changes.recording },
    passing: null,
    unserved: changes.unserved ?? [],
  };
}

/** Returns a prompt of another kind, or the plain conversation with changes. */
export function chatPrompt(changes: RequestChanges["prompt"] = {}): ChatPrompt {
  return changes.kind === "text" || changes.kind === "tokens"
    ? changes
    : { ...plainRequest.prompt, ...changes };
}
