// What happens when nobody reads any more what a command prints (`hone … | head`): it ends, and that is no failure. What a
// command has begun on a server goes on there.

/** Ends the process quietly, with its status so far, once its standard output or its errors find no reader. */
export function endWithoutReader(): void {
  onLostReader(() => process.exit(process.exitCode ?? 0));
}

/** Goes on without a reader, and drops what is printed. */
export function goOnWithoutReader(): void {
  onLostReader(() => undefined);
}

function onLostReader(act: () => void): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      // Anything else, a full disk for one, is a failure.
      if (error.code !== "EPIPE") throw error;
      act();
    });
}
