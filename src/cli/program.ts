import { Command } from 'commander'
import { addDoctor } from './doctor/doctor.ts'
import { addExplain } from './explain.ts'
import { addLeases } from './leases.ts'
import { addLab } from './lab.ts'
import { addMode } from './mode.ts'
import { addPurge } from './purge/purge.ts'
import { version } from './package.ts'
import { addSources } from './sources.ts'
import { addWatch } from './watch/watch.ts'

/** The command line of `herdless`; each command says in its own file what it takes. It throws instead of exiting. */
export function herdless(): Command {
  const program = new Command('herdless')
    .description('Examines, watches, purges and switches caches on a Redis. It needs ioredis or node-redis.')
    .version(version(), '-v, --version', 'the version of this package')
    .helpOption('-h, --help', 'this text')
    .helpCommand('help [command]', 'the help of a command')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    // `--version` behind a command is not that of the program.
    .enablePositionalOptions()
    .configureOutput({ writeErr: () => undefined })
    .exitOverride()
  for (const add of [addDoctor, addExplain, addLeases, addSources, addWatch, addPurge, addMode, addLab]) add(program)
  return program
}
