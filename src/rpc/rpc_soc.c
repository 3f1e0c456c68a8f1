/* SPDX-License-Identifier: Apache-2.0 */
/* table: the SoCs a client can name. Numbers are the model ids of the public device list; architecture 0 means that no public table says it. Vector
 * contexts and sessions follow the architecture where nothing is published. */
#include <stdlib.h>
#include <strings.h>

#include "rpc/rpc.h"

#define HTP(model, name, arch, vtcm, hvx) { model, name, arch, vtcm, hvx, 1, 4, true }
#define OLD(model, name) { model, name, 66, 0, 0, 0, 0, false }

static const struct rpc_soc socs[] = {
    OLD(1, "SDM845"), OLD(2, "SDM835"), OLD(3, "SDM821"), OLD(4, "SDM820"), OLD(5, "SDM801"), OLD(6, "SDM670"), OLD(7, "SDM660"),
    OLD(8, "SDM652"), OLD(9, "SDM636"), OLD(10, "SDM630"), OLD(11, "SDM625"), OLD(12, "SDM855"), OLD(13, "SDM710"), OLD(15, "SDM632"),
    OLD(16, "QCS610"), OLD(17, "SM7150"), OLD(18, "QCS405"), OLD(19, "SM6125"), OLD(20, "QCS403"), OLD(21, "SDM865"),
    OLD(23, "IPQ6018"), OLD(24, "IPQ6028"), OLD(25, "SM7250"), OLD(26, "SA8195"), OLD(27, "SM6250"), OLD(28, "SM4250"),
    OLD(29, "SM6350"), OLD(31, "SM4350"), OLD(33, "QCS410"), OLD(40, "SM6225"), OLD(47, "STP6225P"), OLD(48, "QCS6125"),
    OLD(49, "QRB4210"), OLD(51, "QCS7230"), OLD(83, "QCS2290"),
    HTP(30, "SM8350", 68, 4, 4), HTP(32, "SM7350", 68, 2, 4), HTP(34, "SM8325", 68, 4, 4), HTP(35, "SM7325", 68, 2, 4),
    HTP(36, "SM8450", 69, 8, 4), HTP(37, "SC8280X", 68, 8, 4), HTP(38, "SM7315", 68, 2, 4),
    { 39, "SA8295", 68, 8, 4, 2, 4, true }, HTP(41, "SM7450", 69, 2, 4),
    HTP(42, "SM8475", 69, 8, 4), HTP(43, "SM8550", 73, 8, 4), HTP(44, "SC7280X", 68, 2, 4), HTP(45, "SXR1230P", 73, 2, 4),
    HTP(46, "SSG2115P", 73, 2, 4), HTP(50, "SM6450", 73, 2, 4), { 52, "SA8255", 73, 8, 4, 2, 4, true }, HTP(53, "SXR2230P", 69, 8, 4),
    HTP(54, "SM7475", 69, 2, 4), HTP(55, "SM4375", 0, 2, 4), HTP(56, "QCM4325", 0, 2, 4), HTP(57, "SM8650", 75, 8, 4),
    HTP(58, "SSG2125P", 73, 2, 4), HTP(59, "QCM4490", 0, 2, 4),
    HTP(60, "SC8380XP", 73, 8, 4), HTP(61, "SM7435", 73, 2, 4), { 62, "SA8540", 68, 8, 4, 2, 4, true },
    HTP(63, "AIC100", 0, 8, 4), HTP(64, "SM7550", 73, 2, 4),
    HTP(65, "SM6450Q", 73, 2, 4), HTP(66, "QCS8550", 73, 8, 4), HTP(67, "SA8620", 75, 8, 4),
    HTP(68, "SM8635", 73, 8, 4), HTP(69, "SM8750", 79, 8, 8),
    HTP(70, "SM7675", 73, 2, 4), HTP(71, "SM4635", 0, 2, 4), { 72, "SA8797", 81, 16, 8, 4, 4, true }, HTP(73, "SM7635", 73, 2, 4),
    HTP(74, "SM6650", 0, 2, 4), HTP(75, "SXR2330P", 79, 8, 8), HTP(76, "SM6475", 0, 2, 4), { 77, "QCS9100", 73, 8, 4, 2, 4, true },
    HTP(78, "QCM6690", 73, 2, 4), HTP(79, "IPQ9574", 0, 2, 4), HTP(80, "IPQ5404", 0, 2, 4),
    HTP(81, "IPQ5424", 0, 2, 4), HTP(82, "QCS8300", 75, 8, 4),
    HTP(84, "SA525M", 0, 2, 4), HTP(85, "SM8735", 79, 8, 8), HTP(86, "SM7750", 73, 2, 4), HTP(87, "SM8850", 81, 8, 8),
    HTP(88, "SC8480XP", 81, 8, 8), HTP(90, "QCS8625", 75, 8, 4), HTP(93, "QCM6490", 68, 2, 4), HTP(95, "SAR2230P", 81, 4, 8),
    HTP(96, "SW6100", 81, 4, 8), HTP(97, "SM8845", 81, 8, 8),
};

/* Other names of the same id. */
static const struct {
    const char *name;
    uint32_t model;
} aliases[] = {
    { "SA8650", 52 }, { "SA8775", 52 }, { "SA7255", 67 }, { "QCS9075", 77 }, { "QCS8275", 82 },
    { "SAR2130P", 46 }, { "SAR1130P", 58 }, { "QRB5165", 21 }, { "QCM4290", 28 }, { "QCM2290", 83 },
    { "QCM6125", 19 }, { "QCS6690", 78 }, { "SM6115", 28 }, { "SM6150", 16 }, { "SM6375", 31 },
    { "SM8250", 21 }, { "SM7225", 29 }, { "SM8350P", 30 }, { "SM8845P", 97 }, { "SA8610", 67 },
    { "SA8620P", 67 }, { "SA8630", 52 }, { "SM4450", 59 },
};

const struct rpc_soc *rpc_soc_find(uint32_t model)
{
    for (size_t i = 0; i < sizeof socs / sizeof socs[0]; i++)
        if (socs[i].model == model)
            return &socs[i];
    return NULL;
}

const struct rpc_soc *rpc_soc_find_name(const char *name)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    if (end != name && !*end)
        return rpc_soc_find((uint32_t)number);
    for (size_t i = 0; i < sizeof socs / sizeof socs[0]; i++)
        if (strcasecmp(socs[i].name, name) == 0)
            return &socs[i];
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcasecmp(aliases[i].name, name) == 0)
            return rpc_soc_find(aliases[i].model);
    return NULL;
}

const struct rpc_soc *rpc_soc_of_arch(uint32_t arch)
{
    for (size_t i = 0; i < sizeof socs / sizeof socs[0]; i++)
        if (socs[i].arch == arch && socs[i].vtcm_mb >= 4)
            return &socs[i];
    return NULL;
}
