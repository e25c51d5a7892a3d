// The one contract of everything that lives long, written once: who follows it says how it begins and ends, and gets
// the rest from here (calls that are repeated, come in the wrong order, or meet each other).
import { ServiceError } from "./service-error.ts";

export interface Service {
  /**
   * Resolves when it is up. Every call waits for the one start.
   *
   * @throws what went wrong; what a failed start left behind is ended by `stop`. ServiceError `unavailable` when it is,
   *   or meanwhile was, stopped: what has been stopped does not start again
   */
  start(): Promise<void>;
  /**
   * Resolves when nothing of it runs any more. Every call waits for the one end; one that comes before the start
   * prevents it, one that comes during the start breaks it off.
   */
  stop(): Promise<void>;
}

/** How a service begins and ends. */
export interface Life {
  /** Called at most once. The signal aborts when it is to stop; until then it may go on by itself. */
  start?(signal: AbortSignal): Promise<void>;
  /** Called once, when no start is under way; also after one that failed or never was. */
  stop?(): Promise<void>;
}

/** A service of this life. `name` is for messages: `The <name> was stopped while it started.` */
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
 * A service made of others. `build` starts them one after the other, each by the function it gets; they are stopped in
 * the reverse order, whether or not all had started, and even where one of them cannot be stopped.
 */
export function serviceOfParts(
  name: string,
  build: (start: (part: Service) => Promise<void>) => Promise<void>,
): Service {
  const parts: Service[] = [];
  return serviceOf(name, {
    start: (signal) =>
      build(async (part) => {
        // Also when it is too late to start: it may hold what was opened for it.
        parts.push(part);
        signal.throwIfAborted();
        // A long start must not hold up the end; what goes wrong here comes again at the end.
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
