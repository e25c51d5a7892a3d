// The contract between a training job and whoever computes: here in this process, or a service elsewhere.
// A trainer holds one adapter and its optimizer; it knows nothing of jobs, groups or rewards.
import type { LossConfig } from "./loss.ts";
import type { Minibatch, TrainingSequence } from "./minibatch.ts";

export interface StepOptions {
  readonly loss: LossConfig;
  /** Above 0. */
  readonly learningRate: number;
}

/** What one gradient step was like; every number is finite. */
export interface StepResult {
  /** Before the step. */
  readonly loss: number;
  /** Mean entropy of the model at trained tokens, in nats, weighted as the loss is. */
  readonly entropy: number;
  /** Of all gradients together, before clipping. */
  readonly gradientNorm: number;
  /** At trained tokens, sequence by sequence, as the model gave them before the step. */
  readonly logprobs: readonly Float32Array[];
}

export interface Trainer {
  /** Changes the adapter by one optimizer step; throws `unsupported` when numbers stop being finite. */
  trainStep(minibatch: Minibatch, options: StepOptions): Promise<StepResult>;
  /** The current log-probabilities of each sequence's trained tokens, in their order. */
  logprobs(minibatch: readonly TrainingSequence[]): Promise<readonly Float32Array[]>;
  /** Writes the adapter (PEFT) and the optimizer's state into an existing folder. */
  save(folder: string): Promise<void>;
  /** Frees what it holds; idempotent. */
  close(): Promise<void>;
}

/** Where a trainer starts. */
export interface TrainerStart {
  /** The folder of the version it goes on from, with the optimizer's state beside it; null for the base model. */
  readonly adapterFolder: string | null;
  /** Decides the first adapter of a model; the same seed gives the same. */
  readonly seed: string;
}

export interface TrainerProvider {
  /** Longest sequence that can train, in tokens. */
  readonly sequenceLengthMax: number;
  /** Throws `invalid` or `unsupported` when the version's files cannot be used. */
  open(start: TrainerStart): Promise<Trainer>;
}
