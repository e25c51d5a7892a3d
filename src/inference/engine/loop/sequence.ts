// One choice of a request while the engine has it: its tokens, how many of them are computed, and where they are kept.
// Choices of one request share the computation of their prompt: one leads, the others follow it until the prompt is
// computed, and each then starts from a copy. Data with its simplest questions; nothing here computes or decides.
import {
  choiceCountOf,
  type FinishReason,
  type GenerationEvent,
  type GenerationRequest,
} from "../../../base/domain/generation.ts";
import { seededRandom, type Random } from "../../../base/domain/random.ts";
import type { ServiceError } from "../../../base/domain/service-error.ts";
import { BeamSearch, noCandidates, type Hypothesis, type Candidates } from "../beam/beam-search.ts";
import type { ConstraintCursor, PreparedConstraint } from "../token-masks/constraint-backend.ts";
import {
  drawRulesOf,
  type DrawRules,
  type ScoreProcessor,
  PromptTokens,
  TokenHistory,
} from "../logits/draw-input.ts";
import type { DrawBlocks } from "../logits/sampler.ts";
import type { LoadedAdapter } from "../model-runner.ts";
import type { ReceivedPrompt } from "../transfers/received-prompt.ts";

/** Where whatever comes of a request goes. */
export interface GenerationOutput {
  push(event: GenerationEvent): void;
  /** It has come to its end; nothing follows. */
  fail(error: ServiceError): void;
  /** Called when nothing more comes, for whatever reason. */
  end?(): void;
}

/** A request that was submitted to the engine and has not ended. */
export interface RunningRequest {
  readonly output: GenerationOutput;
  readonly request: GenerationRequest;
  /** What its choices are held to; null leaves them free. */
  readonly constraint: PreparedConstraint | null;
  readonly rules: DrawRules;
  readonly prompt: PromptTokens;
  /** Held from its first admission, so that the request ends on the weights that it began with; null for the base model. */
  adapter: LoadedAdapter | null;
  /** Null where its choices are drawn. */
  readonly search: BeamSearch | null;
  /** Choices of a search that nobody wants, which are only known by its end. */
  readonly unwanted: Set<number>;
  /** One for each choice; of a search one for each beam, whose choice is known at its end. */
  readonly sequences: readonly Sequence[];
  /** Tokens of the prompt that were computed for it until its prompt was: the others are those that an earlier one left. */
  computedPromptCount: number;
  /** What another engine computed of the prompt, until it is in a slot. */
  received: ReceivedPrompt | null;
  /** Whether the prompt is held for another engine; null before it is computed, and where that was not asked for. */
  isHeld: boolean | null;
  /** Tokens of the prompt whose log-probabilities were emitted. */
  emittedLogprobCount: number;
  readonly submittedMs: number;
  /** From then until it was first admitted; null while it waits for that. */
  waitedMs: number | null;
  /** Whether `prompt-computed` was emitted: choices that run in portions compute it again. */
  isPromptComputed: boolean;
}

/** Scores that are kept until they can be drawn from. */
export interface HeldScores {
  readonly logits_V: Float32Array;
  readonly blocks: DrawBlocks;
}

/** How a choice ended by itself. */
export interface Finish {
  readonly reason: FinishReason;
  readonly stopTokenId: number | null;
}

export class Sequence {
  readonly running: RunningRequest;
  readonly choice: number;
  /** Its place among all sequences by the time they came. */
  readonly arrival: number;
  /** The stream that it alone draws from. */
  readonly random: Random;
  answerTokenIds: number[] = [];
  /** What its draws know of its tokens. */
  history: TokenHistory;
  /** Those that its request asks for, in their order. */
  processors: readonly ScoreProcessor[] = [];
  /** Choices that begin with a copy of this one's prompt; they hold nothing and do nothing before. */
  followers: readonly Sequence[] = [];
  /** Tokens, from the first of the prompt, whose keys and values are in its slot. */
  computedCount = 0;
  /** With which prompts it shares what is computed of its own; null where it shares nothing. */
  prefixScope: string | null = null;
  /** Written by its lane alone; null while it has none. */
  slot: number | null = null;
  /** Of several lanes of its adapter the one that it was given; null while it waits. */
  placedIn: string | null = null;
  /** Its place in its constraint while it runs; null where it has none. */
  cursor: ConstraintCursor | null = null;
  /** The scores of its next token while it waits for what its constraint allows; it is not computed meanwhile. */
  held: HeldScores | null = null;
  /** Of a search: the live hypothesis that it holds, as its answer so far; null while it holds none. */
  hypothesis: Hypothesis | null = null;
  /** Of a search: how it may go on; it is not computed until all others of its request know that too. */
  candidates: Candidates | null = null;
  /** It wants no more tokens; it leaves its slot at the next sweep. */
  isFinished = false;

  constructor(running: RunningRequest, choice: number, arrival: number) {
    this.running = running;
    this.choice = choice;
    this.arrival = arrival;
    this.random = seededRandom(running.request.sampling.seed, choice);
    this.history = new TokenHistory(running.prompt, this.answerTokenIds);
  }

  /** Of its adapter, by its id and its hash: empty for the base model. */
  get adapterKey(): string {
    const { adapter } = this.running.request.prompt;
    return adapter === null ? "" : `${adapter.id} ${adapter.hash ?? ""}`;
  }

  /** The lane that it is in; while it waits, the first one of its adapter. */
  get laneId(): string {
    return this.placedIn ?? this.adapterKey;
  }

  /** Lower is earlier. */
  get priority(): number {
    return this.running.request.priority;
  }

  /** Whose it is, among whom turns are shared out. */
  get owner(): string {
    return this.running.request.cacheOwner;
  }

  /** Of its prompt. */
  get tokenIds(): readonly number[] {
    return this.running.request.prompt.tokenIds;
  }

  get tokenCount(): number {
    return this.tokenIds.length;
  }

  /** Whether every token that it has is computed: the next one can be drawn. */
  get isComputed(): boolean {
    return this.computedCount === this.tokenCount + this.answerTokenIds.length;
  }

  /** Whether it is to be computed further: it waits neither for its constraint, nor for others of its search. */
  get isDecoding(): boolean {
    return this.held === null && this.candidates === null;
  }

  /** Whether it is a beam's row that no live hypothesis has. */
  get isFree(): boolean {
    return this.running.search !== null && this.hypothesis === null;
  }

  /** Of its answer, the token to compute next. */
  get inputTokenId(): number {
    return this.answerTokenIds[this.computedCount - this.tokenCount];
  }

  /** Tokens it may come to hold. */
  get positionCountMax(): number {
    const { prompt, stopping } = this.running.request;
    return prompt.tokenIds.length + stopping.maxTokens;
  }

  /** Whether log-probabilities of the prompt are wanted and were not all emitted. */
  get needsLogprobs(): boolean {
    const { request, emittedLogprobCount } = this.running;
    return (
      request.outputs.promptLogprobCount !== null && emittedLogprobCount < request.prompt.tokenIds.length
    );
  }

  /** Whether its prompt's embedding is all that is wanted of it. */
  get wantsEmbedding(): boolean {
    return this.running.request.outputs.embedding === true;
  }

  /** Slots that it and its followers come to need. */
  get slotCount(): number {
    return 1 + this.followers.length;
  }

  /** Gives up what is computed of it, and keeps its tokens: they are computed again when it runs again. */
  forgetComputed(): void {
    this.computedCount = 0;
    this.placedIn = null;
    this.held = null;
    if (this.hypothesis !== null) this.candidates = null;
    this.cursor?.close();
    this.cursor = null;
  }

  /** Holds no live hypothesis any more. What it has computed stays, for another to begin with. */
  dropHypothesis(): void {
    this.hypothesis = null;
    this.candidates = noCandidates;
    this.cursor?.close();
    this.cursor = null;
  }

  /** Its answer becomes a copy of another's, as far as that is computed. */
  copyAnswer({ answerTokenIds, computedCount }: Sequence): void {
    this.answerTokenIds = [...answerTokenIds];
    this.history = new TokenHistory(this.running.prompt, this.answerTokenIds);
    this.computedCount = computedCount;
  }

  /** Takes a drawn token; returns how the choice ends with it, null when it goes on. */
  append(tokenId: number): Finish | null {
    const { rules, request } = this.running;
    this.answerTokenIds.push(tokenId);
    if (rules.stopTokenIds.has(tokenId)) return { reason: "stop", stopTokenId: tokenId };
    const isFull = this.answerTokenIds.length === request.stopping.maxTokens;
    return isFull ? { reason: "length", stopTokenId: null } : null;
  }
}

/**
 * A request with a sequence for each choice. Of every `portion` of them one leads; the others follow it.
 *
 * @param options.arrival how many sequences came before
 * @returns the leaders beside it
 */
export function openRequest(
  request: GenerationRequest,
  options: {
    readonly output: GenerationOutput;
    readonly constraint: PreparedConstraint | null;
    readonly processors: readonly ScoreProcessor[];
    readonly portion: number;
    readonly arrival: number;
    readonly submittedMs: number;
  },
): { readonly running: RunningRequest; readonly leaders: readonly Sequence[] } {
  const sequences: Sequence[] = [];
  const rules = drawRulesOf(request);
  const running: RunningRequest = {
    output: options.output,
    request,
    constraint: options.constraint,
    rules,
    search: searchOf(request, rules),
    unwanted: new Set(),
    prompt: new PromptTokens(request.prompt.tokenIds),
    adapter: null,
    sequences,
    computedPromptCount: 0,
    received: null,
    isHeld: null,
    emittedLogprobCount: 0,
    submittedMs: options.submittedMs,
    waitedMs: null,
    isPromptComputed: false,
  };
  for (let choice = 0; choice < choiceCountOf(request); choice++) {
    const sequence = new Sequence(running, choice, options.arrival + choice);
    sequence.processors = options.processors;
    sequences.push(sequence);
  }
  const leaders = sequences.filter(({ choice }) => choice % options.portion === 0);
  for (const leader of leaders) {
    leader.followers = sequences.slice(leader.choice + 1, leader.choice + options.portion);
  }
  if (running.search !== null) {
    for (const sequence of sequences) sequence.dropHypothesis();
    [leaders[0].hypothesis] = running.search.live;
    leaders[0].candidates = null;
  }
  return { running, leaders };
}

function searchOf({ choices, prompt, stopping }: GenerationRequest, rules: DrawRules): BeamSearch | null {
  if (choices.kind === "sample") return null;
  const { width, lengthPenalty } = choices;
  const { maxTokens } = stopping;
  const { stopTokenIds } = rules;
  return new BeamSearch({
    width,
    lengthPenalty,
    promptLength: prompt.tokenIds.length,
    maxTokens,
    stopTokenIds,
  });
}

/**
 * Of a leader and its followers the first that wants more tokens, followed by the others that do; null when none does.
 * It gets the slot only when its lane hands it over.
 */
export function successorOf(leader: Sequence): Sequence | null {
  if (!leader.isFinished && !leader.followers.some(({ isFinished }) => isFinished)) return leader;
  const [first, ...others] = [leader, ...leader.followers].filter((sequence) => !sequence.isFinished);
  if (first === undefined) return null;
  first.followers = others;
  return first;
}
