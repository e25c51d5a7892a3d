// The platform's services that this client needs, under the names of the web platform; tests provide fakes. Only this
// module reads the time, randomness and the environment.

export interface Platform {
  /** Returns an environment variable; undefined if it is empty or unreadable, or if the platform has no environment. */
  environment(name: string): string | undefined;
  /** Returns a new UUID. */
  newId(): string;
  /** Returns a uniformly distributed number in [0, 1). */
  uniform(): number;
  /** Returns monotonic time in milliseconds from an arbitrary start. */
  monotonicMs(): number;
  /** Returns wall-clock time. */
  now(): Date;
  /** Returns the output for progress, and whether it is a terminal; null if the platform has none. */
  output(): { readonly isTerminal: boolean; write(text: string): unknown } | null;
  /** Resolves after a duration; rejects with the signal's reason if the signal aborts first. */
  sleep(durationMs: number, signal?: AbortSignal): Promise<void>;
  /** Returns the class of WebSockets; null if the platform has none, such as Node 20 without its flag. */
  webSocket(): WebSocketClass | null;
}

/** The part of the class `WebSocket` that this client uses. */
export type WebSocketClass = new (url: string) => Socket;

export interface Socket {
  addEventListener(type: string, listener: (event: SocketEvent) => void): void;
  send(text: string): void;
  close(): void;
}

export interface SocketEvent {
  readonly type: string;
  /** Text of a message; other types of events have none. */
  readonly data?: unknown;
  /** Description of an error, if the platform gives one. */
  readonly message?: string;
}

interface ErrorStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export const webPlatform: Platform = {
  environment: (name) => {
    const place = globalThis as { readonly process?: { readonly env?: Readonly<Record<string, string>> } };
    try {
      return place.process?.env?.[name] || undefined;
    } catch {
      // Deno has denied access to the variable.
      return undefined;
    }
  },
  newId: () => crypto.randomUUID(),
  uniform: () => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32,
  monotonicMs: () => performance.now(),
  now: () => new Date(),
  output: () => {
    const { process } = globalThis as { readonly process?: { readonly stderr?: ErrorStream } };
    const stderr = process?.stderr;
    if (typeof stderr?.write !== "function") return null;
    return { isTerminal: stderr.isTTY === true, write: (text) => stderr.write(text) };
  },
  sleep: (durationMs, signal) =>
    new Promise((resolve, reject) => {
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, durationMs);
      if (signal?.aborted === true) onAbort();
      else signal?.addEventListener("abort", onAbort, { once: true });
    }),
  webSocket: () => (globalThis as { readonly WebSocket?: WebSocketClass }).WebSocket ?? null,
};
