// Runs the contract tests on the real chat, over a fake engine with a short answer, and on the fake chat of the HTTP
// tests.
import { FakeChat } from "../../../api/http/testing/fake-chat.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { choiceCountOf } from "../../../base/domain/generation.ts";
import type {
  Engine,
  Generation,
  GenerationEvent,
  GenerationRequest,
} from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { createMetrics } from "../../../base/telemetry/metrics.ts";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { plainReplies } from "../testing/plain-replies.ts";
import { createChatService } from "../complete-chat.ts";
import { noDefaults } from "../testing/no-defaults.ts";
import { directPrompts } from "../testing/direct-prompts.ts";
import { servedBases } from "../testing/served-bases.ts";
import { checkChat, type ChatBehaviour } from "./check-chat.ts";

const folder = "test/fixtures/goldens/models/qwen3";
const tokenizer = await loadTokenizer(folder);
const prompts = await directPrompts(folder);
const answer = tokenizer.encode("yes, 1", { addSpecialTokens: false });

/** Emits the same answer for each choice, one token at a time. The choices take turns. */
async function* play(
  request: GenerationRequest,
  end: Promise<never> | null,
): AsyncGenerator<readonly GenerationEvent[]> {
  const alternatives = [1, 2].map((id) => ({ id, logprob: -id }));
  yield [{ kind: "prompt-computed", cachedTokenCount: 0 }];
  for (const [index, id] of answer.entries()) {
    for (let choice = 0; choice < choiceCountOf(request); choice++) {
      const tokens = { kind: "tokens", choice, tokens: [{ id, logprob: -1, alternatives }] } as const;
      if (index < answer.length - 1 || end !== null) yield [tokens];
      else yield [tokens, { kind: "choice-finished", choice, reason: "length", stopTokenId: null }];
      if (end !== null) await end;
    }
  }
}

function generationOf(request: GenerationRequest, behaviour: ChatBehaviour): Generation {
  const failed = new ServiceError({ code: "unavailable", message: "gone" });
  let abort: () => void = () => undefined;
  const end = new Promise<never>((_, reject) => {
    abort = () => reject(new ServiceError({ code: "cancelled", message: "aborted" }));
    if (behaviour === "fails") reject(failed);
  });
  end.catch(() => undefined);
  const events = play(request, behaviour === "answers" ? null : end);
  return { events, stopChoice: () => undefined, abort };
}

function engineOf(behaviour: ChatBehaviour): Engine {
  const state = { kind: "ready", limits: { contextLength: 64, vocabularySize: 512 } } as const;
  return {
    capabilities: { features: new Set(), isExact: true },
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    roomFor: () => 64,
    prepareAdapter: () => Promise.resolve(),
    dropAdapter: () => undefined,
    status: () => ({ state, runningCount: 0, waitingCount: 0, waitingCountMax: 1, gauges: () => [] }),
    submit: (request) => generationOf(request, behaviour),
  };
}

checkChat("the chat over an engine", async (behaviour) =>
  createChatService({
    directory: {
      resolve: async () => ({
        base: "tiny",
        name: "tiny",
        fullName: "tiny",
        fingerprint: "f",
        adapter: null,
        isTrained: false,
        modelId: null,
        step: null,
        projectId: null,
      }),
      adapterFault: async (_model, refusal) => refusal,
    },
    bases: servedBases({
      model: { name: "tiny", folder },
      engine: engineOf(behaviour),
      prompts,
      tokenizer,
      defaults: noDefaults([2]),
      replies: plainReplies,
      contextLength: 64,
    }),
    clock: systemClock,
    metrics: createMetrics({ processMetrics: false }),
    logger: silentLogger,
  }),
);

checkChat("http's fake", async (behaviour) => {
  const chat = new FakeChat();
  chat.script.hangs = behaviour === "hangs";
  chat.script.failure = behaviour === "fails" ? new Error("gone") : null;
  return chat;
});

checkChat("http's fake that thinks and calls tools", async (behaviour) => {
  const chat = new FakeChat();
  chat.script.pieces = [
    { reasoning: "Hm" },
    { toolCalls: [{ index: 0, id: "c", name: "f", argumentsText: "{" }] },
    { toolCalls: [{ index: 0, argumentsText: "}" }] },
  ];
  chat.script.finish = "tool_calls";
  chat.script.hangs = behaviour === "hangs";
  chat.script.failure = behaviour === "fails" ? new Error("gone") : null;
  return chat;
});
