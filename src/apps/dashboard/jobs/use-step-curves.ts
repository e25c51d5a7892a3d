// Hook for the curves of a job's gradient steps. It follows the job's events while the page is visible.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { TrainingEvent } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import type { Curve } from "../charts/curve.ts";
import { untilVisible, whileVisible } from "../visibility.ts";
import { messageOf } from "../components/errors/error-text.ts";
import { stepCurves } from "./step-curves.ts";

/** Time in milliseconds during which events are collected for one update of the page. */
const gatherMs = 100;

export interface FollowedCurves {
  readonly curves: readonly Curve[];
  /** Message of the error that ended following the events; null if none occurred. */
  readonly failure: string | null;
}

export function useStepCurves(hone: Hone, jobId: string): FollowedCurves {
  const [steps, setSteps] = useState<readonly TrainingEvent[]>([]);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    setSteps([]);
    setFailure(null);
    let gathered: TrainingEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | null = null;
    const show = (): void => {
      timer = null;
      const come = gathered;
      gathered = [];
      if (!leaving.signal.aborted) setSteps((before) => [...before, ...come]);
    };
    const onStep = (event: TrainingEvent): void => {
      gathered.push(event);
      timer ??= setTimeout(show, gatherMs);
    };
    followWhileVisible(hone, jobId, onStep, leaving.signal).catch((error: unknown) => {
      if (!leaving.signal.aborted) setFailure(messageOf(error));
    });
    return () => leaving.abort();
  }, [hone, jobId]);
  return { curves: useMemo(() => stepCurves(steps), [steps]), failure };
}

/**
 * Follows a job's events to its end. While the tab is hidden, the connection is closed. When the tab is visible again,
 * following continues after the last event received.
 */
async function followWhileVisible(
  hone: Hone,
  jobId: string,
  onStep: (event: TrainingEvent) => void,
  leaving: AbortSignal,
): Promise<void> {
  let after: string | undefined;
  while (!leaving.aborted) {
    await untilVisible(leaving);
    const signal = whileVisible(leaving);
    try {
      for await (const event of hone.jobs.follow(jobId, { after, signal })) {
        after = event.id;
        if (event.type === "gradient_step") onStep(event);
      }
      return;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
