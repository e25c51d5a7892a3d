// Trace of one job attempt. A span for the attempt has a child span for each phase, and is linked to the request that
// created the job. The times of the phases come from the training process's reports.
import type { Clock } from "../../base/domain/clock.ts";
import type { JobPhase, TrainingJob } from "../../base/domain/job.ts";
import type { OpenSpan, Tracing } from "../../base/telemetry/tracing.ts";

/** Maximum number of steps with their own span. Later steps are only part of the span that covers all steps. */
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

  /** Begins the trace when the job is claimed. */
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

  /** @param ending metric label of the outcome; the span is marked as an error unless the job succeeded */
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
