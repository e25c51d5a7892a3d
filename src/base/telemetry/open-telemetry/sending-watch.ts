// What is said of sending to a collector: what was lost is counted, and the log has a line when it begins to fail and one when
// it is well again, however often it is tried in between.
import type { Logger } from "../logger.ts";
import type { Metrics } from "../metrics.ts";

type Signal = "traces" | "metrics";

const reasons = ["queue full", "not taken", "stopped"] as const;

export interface SendingWatch {
  sent(): void;
  /** @param count of what was to be sent */
  failed(error: Error, count: number): void;
  lost(reason: (typeof reasons)[number], count: number): void;
}

/** A watch for each signal; registers the metrics, once per registry. */
export function sendingWatches(
  { metrics, logger }: { readonly metrics: Metrics; readonly logger: Logger },
  urls: { readonly [Name in Signal]: string | null },
): { readonly [Name in Signal]: SendingWatch } {
  const lost = metrics.counter({
    name: "hone_telemetry_lost_total",
    help: "Spans and batches of metrics that did not come to their collector.",
    labels: ["signal", "reason"],
    known: (["traces", "metrics"] as const).flatMap((signal) =>
      reasons.map((reason) => ({ signal, reason })),
    ),
  });
  const watchOf = (signal: Signal): SendingWatch => {
    let lostCount = 0;
    let isFailing = false;
    const url = urls[signal] === null ? "" : shownUrl(urls[signal]);
    const countLost: SendingWatch["lost"] = (reason, count) => {
      lostCount += count;
      if (count > 0) lost.increase({ signal, reason }, count);
    };
    return {
      sent: () => {
        if (isFailing) logger.info({ signal, url, lostCount }, "telemetry is sent again");
        [isFailing, lostCount] = [false, 0];
      },
      failed: ({ name, message }, count) => {
        countLost("not taken", count);
        // The whole error holds what the collector answered, which may be anything.
        const reason = `${name}: ${message}`.slice(0, 200);
        if (!isFailing)
          logger.warn(
            { signal, url, reason },
            "telemetry cannot be sent; what does not fit in the queue is lost",
          );
        isFailing = true;
      },
      lost: countLost,
    };
  };
  return { traces: watchOf("traces"), metrics: watchOf("metrics") };
}

/** Without name and password, and without a query, which may be a key. */
function shownUrl(text: string): string {
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname}`;
}

/** What an exporter says of a batch: null where it was taken, whose code is 0. */
export function faultOf({ code, error }: { readonly code: number; readonly error?: Error }): Error | null {
  return code === 0 ? null : (error ?? new Error("It was not taken."));
}
