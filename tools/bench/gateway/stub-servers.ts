// Process with the stub vLLM servers of tools/bench/gateway, which compute their tokens at no cost. At the end of each
// step the stubs send one token for every running answer, like a server that batches; with a step of 0 ms they answer
// at once. The parent process passes the number of stubs at the start, and step lengths in milliseconds as messages; it
// receives the stubs' URLs.
import type { GenerationEvent, GenerationRequest } from "../../../src/base/domain/generation.ts";
import { StubVllm } from "../../../src/inference/vllm/testing/stub-vllm.ts";
import { playedEngine } from "../played-engine.ts";
import { answerToken } from "./counted-tokens.ts";

const serverCount = Number(process.argv[2]);
const limits = { contextLength: 1024, vocabularySize: 672 };

let stepMs = 0;
let waiting: (() => void)[] = [];
let steps: NodeJS.Timeout | null = null;

function setStep(ms: number): void {
  if (steps !== null) clearInterval(steps);
  stepMs = ms;
  steps = ms === 0 ? null : setInterval(takeStep, ms);
  takeStep();
}

function takeStep(): void {
  const all = waiting;
  waiting = [];
  for (const goOn of all) goOn();
}

async function* play({ prompt, stopping }: GenerationRequest): AsyncGenerator<readonly GenerationEvent[]> {
  const { tokenIds } = prompt;
  const tokensAt = (index: number): GenerationEvent => {
    const token = { id: answerToken(tokenIds, index), logprob: -1, alternatives: [] };
    return { kind: "tokens", choice: 0, tokens: [token] };
  };
  yield [{ kind: "prompt-computed", cachedTokenCount: 0 }];
  for (let index = 0; index < stopping.maxTokens; index++) {
    if (stepMs > 0) await new Promise<void>((resolve) => waiting.push(resolve));
    yield [tokensAt(index)];
  }
  yield [{ kind: "choice-finished", choice: 0, reason: "length", stopTokenId: null }];
}

const stubs = Array.from(
  { length: serverCount },
  () => new StubVllm({ behind: playedEngine(limits, play), ...limits, endTokenId: 2, logprobCountMax: 20 }),
);
// Regularly clears the lists of received requests, which would grow without bound. Only tests need them.
setInterval(() => stubs.forEach(({ asked }) => (asked.length = 0)), 1000);
process.on("message", (ms: number) => setStep(ms));
process.on("disconnect", () => process.exit());
process.send?.(await Promise.all(stubs.map((stub) => stub.start())));
