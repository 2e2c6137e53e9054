import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const DISTURBER = fileURLToPath(new URL('disturber.mjs', import.meta.url));

/** Works on each of the machines by its name: `quiet`, or `disturbed`, next to programs that keep its CPU and its memory busy. */
export async function onEachMachine(names, work) {
  for (const machine of names.split(',')) {
    const disturbing = machine === 'disturbed' ? ['cpu', 'memory'] : [];
    const disturbers = disturbing.map((what) => spawn(process.execPath, [DISTURBER, what], { stdio: 'ignore' }));
    try {
      await work(machine);
    } finally {
      for (const child of disturbers) child.kill();
    }
  }
}
