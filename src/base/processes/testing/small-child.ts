// For tests: a small child process that can do everything a child may do: answer, refuse, hang, die, and end slowly.
import { ServiceError } from "../../domain/service-error.ts";
import { serveParent } from "../serve-parent.ts";

export type StartOf = "ready" | "supplemented" | "refuse" | "break" | "hang" | "die";

export interface SmallProtocol {
  readonly load: { readonly start: StartOf; readonly stop: "at once" | "never" };
  readonly ready: { readonly greeting: unknown; readonly hint: unknown };
  readonly request:
    | { readonly kind: "echo"; readonly text: Uint8Array }
    | { readonly kind: "die" }
    /** Makes the child allocate memory until none is left. */
    | { readonly kind: "exhaust" };
  readonly event: { readonly echo: Uint8Array } | { readonly farewell: number };
}

const never = (): Promise<never> => new Promise<never>(() => undefined);

function exhaust(): never {
  for (const held: number[][] = []; ;) held.push(Array.from({ length: 1000 }, () => 0));
}

const starts: { readonly [Start in StartOf]: (supplement: Promise<unknown>) => Promise<unknown> } = {
  ready: async () => "hello",
  supplemented: (supplement) => supplement,
  refuse: () => Promise.reject(new ServiceError({ code: "unsupported", message: "Not this one." })),
  break: () => Promise.reject(new Error("a secret of the implementation")),
  hang: never,
  die: async () => process.exit(3),
};

let hint: unknown;
const prepare = (given: unknown): void => {
  hint = given;
};

serveParent<SmallProtocol>(async ({ start, stop }, emit, supplement) => {
  const greeting = await starts[start](supplement);
  return {
    ready: { greeting, hint },
    receive: (request) => {
      if (request.kind === "die") process.exit(4);
      if (request.kind === "exhaust") exhaust();
      void emit({ echo: request.text });
    },
    stop: async () => {
      if (stop === "never") await never();
      for (let count = 1; count <= 3; count++) await emit({ farewell: count });
    },
  };
}, prepare);
