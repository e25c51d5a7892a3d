// Runs several Node.js processes at the same time, for set-up, which waits synchronously (setup.js). Its argument is a
// JSON list with the arguments of each process. Exits with 1 if a process fails, after all have ended.
import { spawn } from "node:child_process";

const [steps = "[]"] = process.argv.slice(2);
for (const step of JSON.parse(steps))
  spawn(process.execPath, step, { stdio: "inherit" }).once("close", (status) => {
    if (status === 0) return;
    process.stderr.write(`hone: ${step.join(" ")} failed\n`);
    process.exitCode = 1;
  });
