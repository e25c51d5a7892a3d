// Contract of long-lived components. An implementation defines how it starts and stops; this module handles repeated,
// premature and concurrent calls.
import { ServiceError } from "./service-error.ts";

export interface Service {
  /**
   * Resolves when the service is up. All calls share one start.
   *
   * @throws any error of the start; `stop` cleans up after a failed start
   * @throws ServiceError `unavailable` if the service is stopped, or is stopped meanwhile; a stopped service does not
   * start again
   */
  start(): Promise<void>;
  /**
   * Resolves when the service has stopped. All calls share one stop. A stop before the start prevents it; a stop
   * during the start aborts it.
   */
  stop(): Promise<void>;
}

/** How a service starts and stops. */
export interface Life {
  /**
   * Called at most once. The signal aborts when the service is to stop; until then the service may continue in the
   * background.
   */
  start?(signal: AbortSignal): Promise<void>;
  /** Called once, when no start is in progress; also after a failed start, or without any start. */
  stop?(): Promise<void>;
}

/** Returns a service. `name` is used in messages: `The <name> was stopped while it started.` */
export function serviceOf(name: string, life: Life): Service {
  const stopping = new AbortController();
  let started: Promise<void> | null = null;
  let stopped: Promise<void> | null = null;
  const start = async (): Promise<void> => {
    await life.start?.(stopping.signal);
    stopping.signal.throwIfAborted();
  };
  const stop = async (): Promise<void> => {
    const how = started === null ? "before it started" : "while it started";
    stopping.abort(unavailable(`The ${name} was stopped ${how}.`));
    // The caller of `start` gets that error.
    await started?.catch(() => undefined);
    await life.stop?.();
  };
  return {
    start: () => {
      if (stopped !== null)
        return Promise.reject(unavailable(`The ${name} was stopped; it does not start again.`));
      return (started ??= start());
    },
    stop: () => (stopped ??= stop()),
  };
}

/**
 * Returns a service made of parts. `build` starts them in order through the given function. They are stopped in
 * reverse order, also if some never started or one fails to stop.
 */
export function serviceOfParts(
  name: string,
  build: (start: (part: Service) => Promise<void>) => Promise<void>,
): Service {
  const parts: Service[] = [];
  return serviceOf(name, {
    start: (signal) =>
      build(async (part) => {
        // Kept even if it is too late to start, because the part may hold opened resources.
        parts.push(part);
        signal.throwIfAborted();
        // A slow start must not delay the stop. An error here is reported again at the end.
        const breakOff = (): void => void part.stop().catch(() => undefined);
        signal.addEventListener("abort", breakOff, { once: true });
        try {
          await part.start();
        } finally {
          signal.removeEventListener("abort", breakOff);
        }
      }),
    stop: async () => {
      const errors: unknown[] = [];
      for (const part of parts.reverse()) await part.stop().catch((error: unknown) => errors.push(error));
      if (errors.length === 1) throw errors[0];
      if (errors.length > 1) throw new AggregateError(errors, `Parts of the ${name} could not be stopped.`);
    },
  });
}

function unavailable(message: string): ServiceError {
  return new ServiceError({ code: "unavailable", message });
}
