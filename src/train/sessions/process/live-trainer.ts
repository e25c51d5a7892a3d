// Executes the calls of a live training process with a trainer like that of jobs. A loss that depends on the current
// log-probabilities costs an additional forward pass; the gradient is then that of a weighted sum of log-probabilities.
import { basename } from "node:path";
import { present } from "../../../base/domain/assert.ts";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import { adapterHash } from "../../../inference/architectures/hashes/adapter-hash.ts";
import type { Trainer, TrainerCall, TrainerProvider, TrainingSequence } from "../../trainer/trainer.ts";
import { sequenceLoss, type SessionLoss } from "./losses.ts";
import type { CallKind, SessionCalls, SessionDatum } from "./protocol.ts";
import type { ScratchArtifacts } from "./scratch-artifacts.ts";

type Handlers = {
  readonly [Kind in CallKind]: (
    given: SessionCalls[Kind]["arguments"],
  ) => Promise<SessionCalls[Kind]["result"]>;
};

export class LiveTrainer implements Handlers {
  readonly #trainers: TrainerProvider;
  readonly #scratch: ScratchArtifacts;
  readonly #vocabularySize: number;
  #trainer: Trainer | null = null;
  #count = 0;

  constructor(trainers: TrainerProvider, scratch: ScratchArtifacts, vocabularySize: number) {
    this.#trainers = trainers;
    this.#scratch = scratch;
    this.#vocabularySize = vocabularySize;
  }

  readonly open: Handlers["open"] = async ({ start }) => {
    await this.#trainer?.close();
    this.#trainer = await this.#trainers.open(start, this.#call());
    return null;
  };

  readonly compute: Handlers["compute"] = async ({ data, loss, isForwardOnly }) => {
    this.#requireTokens(data);
    const trainer = this.#opened();
    const isLinear = loss.name === "cross_entropy";
    if (isForwardOnly || !isLinear) {
      const { logprobs } = await trainer.forward(
        data.map((datum) => sequenceOf(datum)),
        this.#call(),
      );
      const computed = withLoss(data, loss, logprobs);
      if (!isForwardOnly) await this.#addGradient(trainer, data, computed.slopes);
      return { logprobs, metrics: computed.metrics };
    }
    // The slopes of cross-entropy are the negative weights. They do not depend on log-probabilities.
    const slopes = data.map(({ inputs }) => inputs["weights"].map((weight) => -weight));
    const logprobs = await this.#addGradient(trainer, data, slopes);
    return { logprobs, metrics: withLoss(data, loss, logprobs).metrics };
  };

  readonly step: Handlers["step"] = async ({ step }) => {
    const { metrics } = await this.#opened().optimStep(step, this.#call());
    const norms = Object.entries(metrics).filter(([name]) => name === "gradient_norm");
    // Clients expect the norm before clipping under this name.
    return Object.fromEntries(norms.map(([, norm]) => ["unclipped_grad_l2:mean", norm]));
  };

  readonly export: Handlers["export"] = async ({ folder, hasState }) => {
    const trainer = this.#opened();
    await trainer.exportAdapter(folder, this.#call());
    return this.#scratch.during(folder, async () => ({
      adapterHash: adapterHash(folder),
      stateFile: hasState ? basename(await trainer.saveState(folder, this.#call())) : null,
    }));
  };

  /**
   * Adds the gradient of the sum of slope · log-probability. Returns the log-probabilities.
   *
   * @throws ServiceError `unsupported` if a slope is not finite
   */
  async #addGradient(
    trainer: Trainer,
    data: readonly SessionDatum[],
    slopes: readonly Float32Array[],
  ): Promise<readonly Float32Array[]> {
    if (!slopes.every((each) => each.every(Number.isFinite)))
      throw new ServiceError({
        code: "unsupported",
        message: "The gradient is not finite; check `logprobs` and `advantages`, or lower the learning rate.",
      });
    // The trainer divides the loss by the number of trained tokens. This weight undoes the division.
    const weight = data.reduce((count, { targets }) => count + targets.length, 0) + 1e-6;
    const sequences = data.map((datum, row) => ({ ...sequenceOf(datum, slopes[row]), weight }));
    await this.#trainers.requireMemory?.([sequences], { kind: "cross-entropy" });
    const { logprobs } = await trainer.forwardBackward(sequences, { kind: "cross-entropy" }, this.#call());
    return logprobs;
  }

  #requireTokens(data: readonly SessionDatum[]): void {
    const isWrong = (token: number): boolean => token < 0 || token >= this.#vocabularySize;
    for (const [row, { tokens, targets }] of data.entries()) {
      const wrong = tokens.find(isWrong) ?? targets.find(isWrong);
      if (wrong !== undefined)
        throw invalid(`Datum ${row} has the token ${wrong}; this model has ${this.#vocabularySize} tokens.`);
    }
  }

  #opened(): Trainer {
    return present(this.#trainer, "an opened trainer");
  }

  #call(): TrainerCall {
    return { id: `call ${(this.#count += 1)}`, signal: new AbortController().signal };
  }
}

/** Converts a datum to a training sequence in which every token but the first is trained on. */
function sequenceOf({ tokens, targets }: SessionDatum, slopes?: Float32Array): TrainingSequence {
  const length = tokens.length + 1;
  const tokenIds = new Int32Array(length);
  tokenIds.set(tokens);
  tokenIds[length - 1] = targets[length - 2];
  const targetIds = new Int32Array(length);
  targetIds.set(targets, 1);
  const tokenWeights = new Float32Array(length);
  slopes?.forEach((slope, at) => (tokenWeights[at + 1] = -slope));
  return {
    tokenIds,
    targetIds,
    mask: new Uint8Array(length).fill(1, 1),
    oldLogprobs: new Float32Array(length).fill(NaN),
    advantage: 0,
    weight: 1,
    tokenWeights,
    group: 0,
  };
}

function withLoss(data: readonly SessionDatum[], loss: SessionLoss, logprobs: readonly Float32Array[]) {
  const computed = data.map(({ inputs }, row) => sequenceLoss(loss, inputs, logprobs[row]));
  return {
    slopes: computed.map(({ slopes }) => slopes),
    metrics: { "loss:sum": computed.reduce((sum, { loss: value }) => sum + value, 0) },
  };
}
