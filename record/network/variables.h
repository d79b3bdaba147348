/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_VARIABLES_H
#define RANKWISE_RECORD_VARIABLES_H

#include "process/abi.h"

/** @brief Begin to read MPI's performance variables, of the process whose first thread this is. */
RW_HIDDEN void rw_variables_start(void);

/** @brief MPI_Finalize is entered: note what they are. */
RW_HIDDEN void rw_variables_end(void);

#endif
