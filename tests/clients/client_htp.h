/* SPDX-License-Identifier: Apache-2.0 */
/* What clients do on libQnnHtp.so beyond what they do everywhere; on other libraries these do nothing. */
#ifndef TESTS_CLIENT_HTP_H
#define TESTS_CLIENT_HTP_H

#include "client.h"

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpDevice.h>
#include <QNN/HTP/QnnHtpGraph.h>
#include <QNN/HTP/QnnHtpSystemContext.h>

/* A device for a SoC (0: not named) and an architecture (0: not named); NULL without HTP. */
Qnn_DeviceHandle_t htp_device(Qnn_LogHandle_t log, uint32_t soc, QnnHtpDevice_Arch_t arch);
/* A device from a tree that the client builds for hardware it does not have. */
Qnn_DeviceHandle_t htp_device_from_platform(Qnn_LogHandle_t log, uint32_t soc, QnnHtpDevice_Arch_t arch);
void htp_device_free(Qnn_DeviceHandle_t device); /* NULL allowed */

/* Votes: an id (0 without HTP), a high performance setting with polling, and the end. */
uint32_t htp_power_on(void);
void htp_power_set(uint32_t id, bool high);
void htp_power_off(uint32_t id);

/* Graph configs ended by NULL; NULL itself without HTP. At most eight customs. */
const QnnGraph_Config_t **htp_graph_config(const QnnHtpGraph_CustomConfig_t *customs, uint32_t n);

/* The blobs of a described binary, read without looking whether they are there. */
void htp_check_blobs(const QnnSystemContext_BinaryInfo_t *info);

#endif
