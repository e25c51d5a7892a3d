// Contract of long-lived components (services). An implementation only says how to start and stop; this module handles
// repeated, premature and concurrent calls.
import { ServiceError } from "./service-error.ts";

export interface Service {
  /**
   * Starts the service. Resolves when the service runs. Repeated calls wait for the same start.
   *
   * @throws any error of the start; `stop` cleans up after a failed start
   * @throws ServiceError `unavailable` if the service was stopped before or during the start; a stopped service cannot
   * be started again
   */
  start(): Promise<void>;
  /**
   * Stops the service. Resolves when it has stopped. Repeated calls wait for the same stop; a stop before the start
   * prevents the start, and a stop during the start aborts it.
   */
  stop(): Promise<void>;
}

/** Functions that start and stop the service of an implementation. */
export interface Life {
  /** Starts the service; called at most once. It may continue in the background until the signal aborts. */
  start?(signal: AbortSignal): Promise<void>;
  /**
   * Stops the service. Called once, and never while the service is starting. Also called after a failed start, and if
   * there was no start.
   */
  stop?(): Promise<void>;
}

/**
 * Returns a service with these functions.
 *
 * @param name name for error messages, such as `The <name> was stopped while it started.`
 */
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
    // The caller of `start` gets the error of the start, so it is ignored here.
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
 * Returns a service that consists of parts. `build` starts the parts in order by calling its argument. The parts are
 * stopped in reverse order, even if some never started or one fails to stop.
 */
export function serviceOfParts(
  name: string,
  build: (start: (part: Service) => Promise<void>) => Promise<void>,
): Service {
  const parts: Service[] = [];
  return serviceOf(name, {
    start: (signal) =>
      build(async (part) => {
        // The part is added even if the service is already stopping, because the part may hold open resources.
        parts.push(part);
        signal.throwIfAborted();
        // The part is stopped immediately, so that a slow start does not delay the stop. An error of this stop is
        // ignored here, because the stop at the end reports it again.
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
