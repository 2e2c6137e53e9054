import type { Command } from 'commander';
import { runContext } from '../host/provenance.js';
import { list, renderTerminal } from '../report/document.js';
import { hostLines } from '../report/host-block.js';
import { print } from './print.js';
import type { CliServices } from './services.js';

export function addHostCommand(program: Command, services: CliServices): void {
  program
    .command('host')
    .summary('show what a run says of this machine and build')
    .description('Shows the block that stands in every result file: the machine, its limits, and every version.')
    .option('--json', 'print JSON')
    .action(async ({ json }: { readonly json?: boolean }) => {
      const build = await services.loadNativeBuild();
      const context = await runContext({ startedAt: new Date(), config: {}, build });
      print(json, context, () => renderTerminal(list(hostLines(context))));
    });
}
