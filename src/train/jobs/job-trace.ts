// Trace of one attempt at a job. The attempt's span has a child span for each phase, and links to the request that
// created the job. The training process reports the times of the phases.
import type { Clock } from "../../base/domain/clock.ts";
import type { JobPhase, TrainingJob } from "../../base/domain/job.ts";
import type { OpenSpan, Tracing } from "../../base/telemetry/tracing.ts";

/** Maximum number of training steps that get a span of their own. Only the span around all steps covers later steps. */
const stepSpansMax = 200;

const parts: { readonly [Phase in JobPhase]: string } = {
  preparing: "sequences",
  training: "steps",
  publishing: "publish",
};

export class JobTrace {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #span: OpenSpan;
  #part: OpenSpan;
  #partName = "claim";
  #stepStartMs = 0;

  /** Begins the trace; the caller has just claimed the job. */
  constructor(tracing: Tracing, clock: Pick<Clock, "monotonicMs">, job: TrainingJob) {
    this.#clock = clock;
    const startMs = clock.monotonicMs();
    this.#span = tracing.begin({
      name: `train ${job.task.kind}`,
      kind: "consumer",
      startMs,
      link: job.madeBy?.traceparent ?? undefined,
      attributes: {
        "hone.job.id": job.id,
        "hone.job.kind": job.task.kind,
        "hone.job.attempt": job.attemptCount,
        "hone.model.id": job.modelId,
        "hone.request_id": job.madeBy?.requestId,
      },
    });
    this.#part = this.#span.begin({ name: this.#partName, startMs });
  }

  enter(phase: JobPhase): void {
    const name = parts[phase];
    if (name === this.#partName) return;
    const startMs = this.#clock.monotonicMs();
    this.#part.end({ endMs: startMs });
    const process = name === "publish" ? {} : { attributes: { "hone.process": "training" } };
    this.#part = this.#span.begin({ name, startMs, ...process });
    this.#partName = name;
    this.#stepStartMs = startMs;
  }

  stepped(index: number): void {
    const endMs = this.#clock.monotonicMs();
    if (index < stepSpansMax)
      this.#part.add({
        name: "step",
        startMs: this.#stepStartMs,
        endMs,
        attributes: { "hone.job.step": index, "hone.process": "training" },
      });
    this.#stepStartMs = endMs;
  }

  /**
   * Ends the attempt's span. Marks it as an error if the outcome is `failed` or `lost`.
   *
   * @param ending metric label of the outcome
   */
  end(ending: string): void {
    const endMs = this.#clock.monotonicMs();
    this.#part.end({ endMs });
    const isFault = ending === "failed" || ending === "lost";
    this.#span.end({
      endMs,
      attributes: { "hone.job.ending": ending },
      error: isFault ? ending : undefined,
    });
  }
}
