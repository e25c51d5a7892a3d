// What is the same on every server of how base models share memory; what an operator sets is beside the other settings of
// models, in registry/.

const fixed = {
  /** How long a request waits for room. Clients often wait longer, and would not know what for. */
  waitMs: 120_000,
  /** For so long a base that is busy is not closed for another one: loading takes seconds, and is to be worth it. */
  turnMs: 10_000,
  /** A client that sends one request after the other leaves shorter gaps than this. */
  pauseMs: 250,
};

export type SharedMemorySettings = Readonly<typeof fixed>;

/** How base models share memory, with what is given in place of the defaults. */
export function sharedMemorySettingsWith(given: Partial<SharedMemorySettings> = {}): SharedMemorySettings {
  return { ...fixed, ...given };
}
